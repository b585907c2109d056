select
    * except (_business_date, _tidemark_rank, _tidemark_said, _tidemark_top, _tidemark_change)
from (
    select
        *,
        last_value(_tidemark_said) over (partition by _key_hash order by _tidemark_rank asc nulls last rows between unbounded preceding and unbounded following) as _tidemark_top,
        last_value(if(_operation = 'N', null, _tidemark_said), true) over (partition by _key_hash order by _tidemark_rank asc nulls last rows between unbounded preceding and unbounded following) as _tidemark_change
    from (
        select
            *,
            struct(_tidemark_rank as place, _row_hash as hash, _operation = 'D' as is_gone) as _tidemark_said
        from (
            select
                *,
                row_number() over (partition by _key_hash
                    order by struct(struct(_sequence_by is not null as is_told, _sequence_by.sequence_1 is not null as has_sequence_1, _sequence_by.sequence_1 as sequence_1, _sequence_by.is_stream is not null as has_is_stream, _sequence_by.is_stream as is_stream, _sequence_by.position is not null as has_position, _sequence_by.position as position, _sequence_by.supplied_num is not null as has_supplied_num, _sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(_batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, case when _source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when _source_operation in ('DELETE', 'MOVE_OUT') then 2 when _source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(_event_id, '') as event) asc nulls first) as _tidemark_rank
            from (
                select * except (_tidemark_before_it)
                from (
                    select
                        *,
                        lag(_source_operation)
                            over (partition by _key_hash
                                order by struct(struct(_sequence_by is not null as is_told, _sequence_by.sequence_1 is not null as has_sequence_1, _sequence_by.sequence_1 as sequence_1, _sequence_by.is_stream is not null as has_is_stream, _sequence_by.is_stream as is_stream, _sequence_by.position is not null as has_position, _sequence_by.position as position, _sequence_by.supplied_num is not null as has_supplied_num, _sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(_batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, case when _source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when _source_operation in ('DELETE', 'MOVE_OUT') then 2 when _source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(_event_id, '') as event) asc nulls first) as _tidemark_before_it
                    from shop.customers_in_sequence__log
                    where _superseded_by is null and _event_time <= timestamp'2026-03-04' and _operation in ('I', 'U', 'D', 'N') and _key_hash is not null
                )
                where not (_operation = 'N' and _row_hash is null and coalesce(_tidemark_before_it = 'MOVE_IN', false))
            )
        )
    )
)
where
    not _tidemark_top.is_gone
    and _tidemark_top.hash is not null
    and _tidemark_rank = if(
        not _tidemark_change.is_gone and _tidemark_change.hash = _tidemark_top.hash, _tidemark_change.place,
            _tidemark_top.place
    )
