with told_apart as (
    with parsed_events as (
        select
            *,
            if(monotonically_increasing_id() >= 0, _kind, null) as _parsed_kind
        from events
    ),

    ours as (
        select * except (_parsed_kind)
        from parsed_events
        where
            _parsed_kind in ('row', 'truncate', 'unreadable')
    ),

    identified as (
        select
            *,
            false as _is_repeated,
            md5(concat_ws('|', _identity, _content)) as _event_id,
            if(
                _may_be_move and lag(_operation) over (partition by _group order by _landing_num asc nulls last) = 'DELETE',
                lag(_before) over (partition by _group order by _landing_num asc nulls last),
                null
            ) as _moved_from
        from ours
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
        copies.* except (_is_repeated, _copy),
        copies._kind <> 'unreadable'
        and (copies._is_repeated or copies._copy > 1 or known_events._event_id is not null) as _is_duplicate
    from copies
    left join (select distinct _event_id from shop.customers_of_events__log where _superseded_by is null) as known_events
        on copies._event_id = known_events._event_id
),

images as (
    select
        *,
        if(_operation = 'DELETE', coalesce(_before, _after), _after) as _image,
        coalesce(_moved_from, _before) as _image_before
    from told_apart
),

texts as (
    select
        *,
        _image['id'] as `_tidemark_text_id`,
        _image['full name'] as `_tidemark_text_full name`,
        _image['phone'] as `_tidemark_text_phone`,
        _image['balance'] as `_tidemark_text_balance`,
        _image_before['id'] as `_tidemark_before_id`
    from images
),

decoded as (
    select
        *,
        try_cast(`_tidemark_text_id` as bigint) as `id`,
        if(coalesce(`_tidemark_text_full name` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null, `_tidemark_text_full name`) as `full name`,
        if(coalesce(`_tidemark_text_phone` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null, `_tidemark_text_phone`) as `phone`,
        transform(array(if(coalesce(`_tidemark_text_balance` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null, `_tidemark_text_balance`)), t0 -> case when t0 rlike '^[-+]?[0-9]*([.][0-9]{0,2}0*)?$' or t0 rlike '^[-+]?[0-9]+([.][0-9]*)?[eE][-+]?[0-9]{1,3}$' and (t0 rlike '^[-+]?[0.]+[eE]' or length(regexp_extract(t0, '[.]([0-9]+)', 1)) - length(regexp_extract(replace(t0, '.', ''), '(0*)[eE]', 1)) - int(regexp_extract(t0, '[eE](.*)', 1)) <= 2) then try_cast(t0 as decimal(10,2)) end)[0] as `balance`,
        try_cast(`_tidemark_before_id` as bigint) as `_before_id`
    from texts
),

judged as (
    select
        `id` as `id`,
        `full name` as `full name`,
        `phone` as `phone`,
        `balance` as `balance`,
        named_struct(
            'id', `_before_id`
        ) as _image_before,
        array_compact(array(
            if(coalesce(not map_contains_key(_image, 'full name'), true) or coalesce(coalesce(`_tidemark_text_full name` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), false), 'full name', null),
            if(coalesce(not map_contains_key(_image, 'phone'), true) or coalesce(coalesce(`_tidemark_text_phone` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), false), 'phone', null),
            if(coalesce(not map_contains_key(_image, 'balance'), true) or coalesce(coalesce(`_tidemark_text_balance` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), false), 'balance', null)
        )) as _unsupplied,
        case
            when coalesce((_operation in ('TRUNCATE', 'TRUNCATE_TABLE')), false)
                then 'truncate'
            when _kind = 'truncate' then 'none'
            when coalesce((_operation = 'DELETE'), false) then 'delete'
            else 'upsert'
        end as _tidemark_effect,
        _moved_from is not null as _tidemark_is_pair,
        _event_id,
        _sequence_num,
        _landing_num,
        _event_time,
        _transaction_id,
        _operation as _source_operation,
        _is_snapshot,
        _snapshot_mark,
        _database,
        _table,
        _offset,
        _raw_payload,
        _is_duplicate,
        case
            when _kind = 'unreadable' then _problem
            when (_operation <> 'DELETE' or true) and `_tidemark_text_id` is not null and `id` is null and not coalesce(`_tidemark_text_id` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false) then 'cast_failed: id'
            when (_operation <> 'DELETE' or false) and `_tidemark_text_full name` is not null and `full name` is null and not coalesce(`_tidemark_text_full name` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false) then 'cast_failed: full name'
            when (_operation <> 'DELETE' or false) and `_tidemark_text_phone` is not null and `phone` is null and not coalesce(`_tidemark_text_phone` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false) then 'cast_failed: phone'
            when (_operation <> 'DELETE' or false) and `_tidemark_text_balance` is not null and `balance` is null and not coalesce(`_tidemark_text_balance` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false) then 'cast_failed: balance'
            when `_tidemark_before_id` is not null and `_before_id` is null then 'cast_failed: _before_id'
            when _kind = 'row' and `id` is null and not coalesce((_operation in ('TRUNCATE', 'TRUNCATE_TABLE')), false) then 'null_key: id'
            when _sequence_num is null then 'null_sequence: _sequence_num'
        end as _reject_reason
    from decoded
)

select
    * except (_image_before, _raw_payload, _unsupplied),
    _image_before.`id` as `_before_id`,
    if(_tidemark_effect = 'upsert' and size(_unsupplied) > 0, _unsupplied, null) as _unsupplied,
    _reject_reason is null and not _is_duplicate as _is_usable,
    concat(md5(concat_ws('',
        concat('2:id', octet_length(cast(`id` as string)), ':', cast(`id` as string))
    )), case when _reject_reason is null and _tidemark_effect in ('upsert', 'delete') then '' end) as _key_hash,
    concat(md5(concat_ws('',
        concat('2:id', octet_length(cast(_image_before.`id` as string)), ':', cast(_image_before.`id` as string))
    )), case when _reject_reason is null and _tidemark_effect = 'upsert' and (_image_before.`id` is not null) then '' end) as _before_key_hash,
    if(_reject_reason is not null, _raw_payload, null) as _raw_payload
from judged
