with touched as (
    select _key_hash from staged_keys where _is_usable and _key_hash is not null
    union
    select _before_key_hash from staged_keys where _is_usable and _before_key_hash is not null
)

select
    log.`id`,
    log.`full name`,
    log.`phone`,
    log.`balance`,
    log._key_hash,
    if(log._source_operation in ('DELETE', 'MOVE_OUT'), 'delete', 'upsert') as _tidemark_effect,
    log._unsupplied,
    struct(struct(log._sequence_by is not null as is_told, log._sequence_by.sequence_1 is not null as has_sequence_1, log._sequence_by.sequence_1 as sequence_1, log._sequence_by.is_stream is not null as has_is_stream, log._sequence_by.is_stream as is_stream, log._sequence_by.position is not null as has_position, log._sequence_by.position as position, log._sequence_by.supplied_num is not null as has_supplied_num, log._sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(log._batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(log._sequence_num as bigint), -9223372036854775807) as line, case when log._source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when log._source_operation in ('DELETE', 'MOVE_OUT') then 2 when log._source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(log._event_id, '') as event) as _tidemark_order,
    log.`_source_operation`,
    log.`_event_id`,
    log.`_sequence_num`,
    log.`_sequence_by`,
    log.`_event_time`,
    log.`_transaction_id`,
    log.`_offset`,
    log.`_moved_from`,
    log._operation,
    log._row_hash,
    log._changed_columns,
    log._business_date,
    log._eff_start_date,
    log._batch_id,
    log._commit_id
from (
    select * from shop.customers_in_sequence__log
) as log
left semi join touched on log._key_hash = touched._key_hash
where log._superseded_by is null and log._key_hash is not null
