with known_rows as (
    select
        log._key_hash,
        log._business_date,
        log._commit_id,
        log._superseded_by,
        log._operation,
        log._event_id,
        log._source_operation,
        log._unsupplied,
        sources._key_hash is not null or coalesce(
            log._source_operation = 'READ' and log._event_id = min_by(
                if(log._source_operation = 'READ', log._event_id, null),
                    if(log._source_operation = 'READ', log._sequence_by, null)
            ) over (partition by log._offset),
            false
        ) as _is_needed,
        struct(struct(log._sequence_by is not null as is_told, log._sequence_by.sequence_1 is not null as has_sequence_1, log._sequence_by.sequence_1 as sequence_1, log._sequence_by.is_stream is not null as has_is_stream, log._sequence_by.is_stream as is_stream, log._sequence_by.position is not null as has_position, log._sequence_by.position as position, log._sequence_by.supplied_num is not null as has_supplied_num, log._sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(log._batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(log._sequence_num as bigint), -9223372036854775807) as line, case when log._source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when log._source_operation in ('DELETE', 'MOVE_OUT') then 2 when log._source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(log._event_id, '') as event) as _tidemark_order
    from shop.customers_in_sequence__log as log
    left join (
        select distinct _moved_from as _key_hash
        from shop.customers_in_sequence__log
        where _moved_from is not null and size(_unsupplied) > 0 and _superseded_by is null
    ) as sources on log._key_hash = sources._key_hash
    where log._key_hash is not null
),

judged_rows as (
    select
        *,
        max(if(
            _superseded_by is null and _operation in ('I', 'U', 'D') and _commit_id <= 260304093000123 and coalesce(size(_unsupplied), 0) <= 0, _tidemark_order, null
        )) over (partition by _key_hash) as _tidemark_anchor,
        max_by(if(_superseded_by is null and _operation in ('I', 'U', 'D'), _operation, null), if(_superseded_by is null and _operation in ('I', 'U', 'D'), _tidemark_order, null))
            over (partition by _key_hash) = 'D'
        and max(_commit_id) over (partition by _key_hash) <= 260304093000123
        and coalesce(max(_superseded_by) over (partition by _key_hash), 0) <= 260304093000123
        and not max(_is_needed) over (partition by _key_hash) as _is_gone
    from known_rows
)

select
    _key_hash,
    _business_date,
    _commit_id,
    _event_id,
    _source_operation
from judged_rows
where
    _superseded_by is null
    and _commit_id <= 260304093000123
    and (_tidemark_order < _tidemark_anchor or _is_gone)
    and not _is_needed
