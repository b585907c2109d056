select
    log.`_key_hash`,
    log.`_row_hash`,
    log.`_business_date`,
    log.`_commit_id`,
    log.`_event_id`,
    sensitive.* except (_key_hash, _row_hash, _business_date, _commit_id, _event_id),
    row_number() over (
        partition by log._key_hash, log._row_hash, log._business_date
        order by struct(coalesce(log._sequence_num, -9223372036854775807) as sequence, coalesce(cast(log._batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(log._sequence_num as bigint), -9223372036854775807) as line, case when log._source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when log._source_operation in ('DELETE', 'MOVE_OUT') then 2 when log._source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(log._event_id, '') as event) desc nulls last
    ) as _tidemark_rank
from shop.customers_apart__log as log
left join shop.customers_apart__sensitive as sensitive
    on
        log._key_hash = sensitive._key_hash
        and log._business_date = sensitive._business_date
        and log._commit_id = sensitive._commit_id
        and log._event_id = sensitive._event_id
where log._superseded_by is null and log._operation in ('I', 'U', 'D')
