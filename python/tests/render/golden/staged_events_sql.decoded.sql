with decoded as (
    select * from decoded_events
),

judged as (
    select
        `id` as `id`,
        `full name` as `full name`,
        `phone` as `phone`,
        `balance` as `balance`,
        if(not _has_before, null, named_struct(
            'id',
                `_before_id`
        )) as _image_before,
        array_except(array(
            if(`_tidemark_lacks_full name`,
                'full name', null),
            if(`_tidemark_lacks_phone`,
                'phone', null),
            if(`_tidemark_lacks_balance`,
                'balance', null),
            cast(null as string)
        ), array(cast(null as string))) as _unsupplied,
        cast(null as string) as _unavailable,
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
            when _tidemark_reason is not null then _tidemark_reason
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
