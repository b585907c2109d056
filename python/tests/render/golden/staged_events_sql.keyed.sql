with parsed_events as (
    select
        *,
        if(monotonically_increasing_id() >= 0, _kind, null) as _parsed_kind
    from events
),

images as (
    select
        * except (_parsed_kind),
        if(_operation = 'DELETE', coalesce(_before, _after), _after) as _image
    from parsed_events
    where
        _parsed_kind in ('row', 'truncate', 'unreadable')
        and _landing_num > 7
        and _landing_num < 9
),

texts as (
    select
        *,
        _image['id'] as `_tidemark_text_id`,
        _image['full name'] as `_tidemark_text_full name`,
        _image['phone'] as `_tidemark_text_phone`,
        _image['balance'] as `_tidemark_text_balance`,
        _before['id'] as `_tidemark_before_id`
    from images
),

given as (
    select
        *,
        if(coalesce(`_tidemark_text_full name` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null,
                `_tidemark_text_full name`) as `_tidemark_given_full name`,
        if(coalesce(`_tidemark_text_phone` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null,
                `_tidemark_text_phone`) as `_tidemark_given_phone`,
        if(coalesce(`_tidemark_text_balance` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null,
                `_tidemark_text_balance`) as `_tidemark_given_balance`
    from texts
),

decoded as (
    select
        *,
        try_cast(`_tidemark_text_id` as bigint)
            as `id`,
        `_tidemark_given_full name`
            as `full name`,
        `_tidemark_given_phone`
            as `phone`,
        case when `_tidemark_given_balance` rlike '^[-+]?[0-9]*([.][0-9]{0,2}0*)?$' or `_tidemark_given_balance` rlike '^[-+]?[0-9]+([.][0-9]*)?[eE][-+]?[0-9]{1,3}$' and (`_tidemark_given_balance` rlike '^[-+]?[0.]+[eE]' or length(regexp_extract(`_tidemark_given_balance`, '[.]([0-9]+)', 1)) - length(regexp_extract(replace(`_tidemark_given_balance`, '.', ''), '(0*)[eE]', 1)) - int(regexp_extract(`_tidemark_given_balance`, '[eE](.*)', 1)) <= 2) then try_cast(`_tidemark_given_balance` as decimal(10,2)) end
            as `balance`,
        try_cast(`_tidemark_before_id` as bigint)
            as `_before_id`
    from given
),

judged as (
    select
        `id` as `id`,
        `full name` as `full name`,
        `phone` as `phone`,
        `balance` as `balance`,
        if(_before is null, null, named_struct(
            'id',
                `_before_id`
        )) as _image_before,
        array_except(array(
            if(coalesce(not map_contains_key(_image, 'full name'), true) or (`_tidemark_text_full name` is not null and `_tidemark_given_full name` is null),
                'full name', null),
            if(coalesce(not map_contains_key(_image, 'phone'), true) or (`_tidemark_text_phone` is not null and `_tidemark_given_phone` is null),
                'phone', null),
            if(coalesce(not map_contains_key(_image, 'balance'), true) or (`_tidemark_text_balance` is not null and `_tidemark_given_balance` is null),
                'balance', null),
            cast(null as string)
        ), array(cast(null as string))) as _unsupplied,
        case
            when _may_be_move and `_tidemark_text_full name` is not null and `_tidemark_given_full name` is null then 'full name'
            when _may_be_move and `_tidemark_text_phone` is not null and `_tidemark_given_phone` is null then 'phone'
            when _may_be_move and `_tidemark_text_balance` is not null and `_tidemark_given_balance` is null then 'balance'
        end as _unavailable,
        case
            when coalesce((_operation in ('TRUNCATE', 'TRUNCATE_TABLE')), false)
                then 'truncate'
            when _kind = 'truncate' then 'none'
            when coalesce((_operation = 'DELETE'), false) then 'delete'
            else 'upsert'
        end as _tidemark_effect,
        _sequence_num,
        _landing_num,
        _tidemark_line_num,
        _event_time,
        _transaction_id,
        _operation as _source_operation,
        _is_snapshot,
        _snapshot_mark,
        _database,
        _table,
        _offset,
        _kind,
        _group,
        _identity,
        _content,
        _delivery_hash,
        _total_order,
        _may_be_move,
        _raw_payload,
        case
            when _kind = 'unreadable' then _problem
            when (_operation <> 'DELETE' or true) and `_tidemark_text_id` is not null and not coalesce(`_tidemark_text_id` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false) and `id` is null then 'cast_failed: id'
            when (_operation <> 'DELETE' or false) and `_tidemark_given_full name` is not null and `full name` is null then 'cast_failed: full name'
            when (_operation <> 'DELETE' or false) and `_tidemark_given_phone` is not null and `phone` is null then 'cast_failed: phone'
            when (_operation <> 'DELETE' or false) and `_tidemark_given_balance` is not null and `balance` is null then 'cast_failed: balance'
            when `_tidemark_before_id` is not null and `_before_id` is null then 'cast_failed: _before_id'
            when _kind = 'row' and `id` is null and not coalesce((_operation in ('TRUNCATE', 'TRUNCATE_TABLE')), false) then 'null_key: id'
            when _sequence_num is null then 'null_sequence: _sequence_num'
        end as _reject_reason
    from decoded
),

narrowed as (
    select
        * except (_raw_payload),
        if(_reject_reason is not null or _unavailable is not null, _raw_payload, null) as _raw_payload
    from judged
),

told_apart as (
    with identified as (
        select
            *,
            false as _is_repeated,
            md5(concat_ws('|', _identity, _content)) as _event_id,
            if(
                _may_be_move and lag(_source_operation)
                    over (partition by _group order by _landing_num asc nulls last) = 'DELETE',
                lag(_image_before) over (partition by _group order by _landing_num asc nulls last),
                null
            ) as _moved_from
        from narrowed
    ),

    copies as (
        select
            *,
            row_number() over (
                partition by _group, _event_id order by _is_repeated asc nulls last, _landing_num asc nulls last
            ) as _copy
        from identified
    )

    select
        copies.* except (_is_repeated, _copy, _image_before, _moved_from, _reject_reason, _unavailable),
        coalesce(copies._moved_from, copies._image_before) as _image_before,
        coalesce(
            copies._reject_reason,
            if(copies._moved_from is not null or copies._kind <> 'unreadable' and (copies._is_repeated or copies._copy > 1 or known_events._event_id is not null), null, 'unavailable_value: ' || copies._unavailable)
        ) as _reject_reason,
        copies._moved_from is not null as _tidemark_is_pair,
        copies._kind <> 'unreadable' and (copies._is_repeated or copies._copy > 1 or known_events._event_id is not null) as _is_duplicate
    from copies
    left join (select distinct _event_id from shop.customers_of_events__log
        where _superseded_by is null) as known_events
        on copies._event_id = known_events._event_id
)

select
    * except (
        _image_before, _unsupplied, _kind, _group, _may_be_move, _identity, _content, _delivery_hash, _total_order
    ),
    _image_before.`id` as `_before_id`,
    if(_tidemark_effect = 'upsert' and size(_unsupplied) > 0, _unsupplied, null) as _unsupplied,
    _reject_reason is null and not _is_duplicate as _is_usable,
    concat(md5(concat_ws('',
        concat('2:id', octet_length(cast(`id` as string)), ':', cast(`id` as string))
    )), case when _reject_reason is null and _tidemark_effect in ('upsert', 'delete') then '' end) as _key_hash,
    concat(md5(concat_ws('',
        concat('2:id', octet_length(cast(_image_before.`id` as string)), ':', cast(_image_before.`id` as string))
    )), case when _reject_reason is null and _tidemark_effect = 'upsert' and (_image_before.`id` is not null) then '' end) as _before_key_hash
from told_apart
