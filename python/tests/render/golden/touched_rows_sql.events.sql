select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_eff_start_date`,
    `_sequence_num`
from (
    select
        *,
        row_number() over (partition by _key_hash
            order by struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(_batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, case when _source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when _source_operation in ('DELETE', 'MOVE_OUT') then 2 when _source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(_event_id, '') as event) desc nulls last) as _tidemark_rank
    from shop.customers_of_events__log
    where
        _operation in ('I', 'U', 'D')
        and _business_date = date'2026-03-04'
        and _commit_id = 260304093000123
)
where _tidemark_rank = 1
