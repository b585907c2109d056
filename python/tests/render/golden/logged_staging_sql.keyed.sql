select
    log.`id` as `id`,
    if(array_contains(log._unsupplied, 'full name'), null, log.`full name`) as `full name`,
    if(array_contains(log._unsupplied, 'phone'), null, log.`phone`) as `phone`,
    if(array_contains(log._unsupplied, 'balance'), null, log.`balance`) as `balance`,
    if(log._source_operation = 'DELETE', log.`id`, departures.`id`) as `_before_id`,
    log._key_hash as `_key_hash`,
    if(log._source_operation = 'DELETE', log._key_hash, log._moved_from) as `_before_key_hash`,
    log._batch_id as `_batch_id`,
    cast(null as bigint) as `_landing_num`,
    log._sequence_num as `_sequence_num`,
    log._event_id as `_event_id`,
    if(log._source_operation = 'MOVE_IN', 'UPDATE', log._source_operation) as `_operation`,
    log._unsupplied as `_unsupplied`,
    log._event_time as `_event_time`,
    log._transaction_id as `_transaction_id`,
    log._source_operation = 'READ' as `_is_snapshot`,
    cast(null as string) as `_database`,
    cast(null as string) as `_table`,
    log._offset as `_offset`,
    log._commit_id as `_commit_id`
from shop.customers_of_events__log as log
left join shop.customers_of_events__log as departures
    on
        log._event_id = departures._event_id
        and log._source_operation = 'MOVE_IN'
        and departures._source_operation = 'MOVE_OUT'
        and departures._superseded_by is null
where
    log._superseded_by is null
    and (
        log._source_operation in ('INSERT', 'READ', 'UPDATE', 'UPSERT', 'DELETE', 'MOVE_IN')
        or (log._source_operation = 'TRUNCATE' and log._operation = 'T')
    )
