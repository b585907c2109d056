select
    cast(null as bigint) as `id`,
    cast(null as string) as `full name`,
    cast(null as string) as `phone`,
    cast(null as decimal(10,2)) as `balance`,
    'close' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    struct(struct(_sequence_by is not null as is_told, _sequence_by.sequence_1 is not null as has_sequence_1, _sequence_by.sequence_1 as sequence_1, _sequence_by.is_stream is not null as has_is_stream, _sequence_by.is_stream as is_stream, _sequence_by.position is not null as has_position, _sequence_by.position as position, _sequence_by.supplied_num is not null as has_supplied_num, _sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, 0 as tie, coalesce(_event_id, '') as event) as _tidemark_order,
    struct(struct(_sequence_by is not null as is_told, _sequence_by.sequence_1 is not null as has_sequence_1, _sequence_by.sequence_1 as sequence_1, _sequence_by.is_stream is not null as has_is_stream, _sequence_by.is_stream as is_stream, _sequence_by.position is not null as has_position, _sequence_by.position as position, _sequence_by.supplied_num is not null as has_supplied_num, _sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, 0 as tie, coalesce(_event_id, '') as event) as _tidemark_bound,
    'TRUNCATE' as _source_operation,
    _event_id,
    _sequence_num,
    _sequence_by,
    _event_time,
    _transaction_id,
    _offset,
    cast(null as string) as _moved_from,
    true as _tidemark_is_new
from staged_in_sequence
where _is_usable and _tidemark_effect = 'truncate'
union all
select
    cast(null as bigint) as `id`,
    cast(null as string) as `full name`,
    cast(null as string) as `phone`,
    cast(null as decimal(10,2)) as `balance`,
    'close' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    struct(struct(coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)) is not null as is_told, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).sequence_1 is not null as has_sequence_1, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).sequence_1 as sequence_1, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).is_stream is not null as has_is_stream, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).is_stream as is_stream, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).position is not null as has_position, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).position as position, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).supplied_num is not null as has_supplied_num, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).supplied_num as supplied_num) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(ends._sequence_num as bigint), -9223372036854775807) as line, 3 as tie, coalesce(ends._event_id, '') as event) as _tidemark_order,
    if(least(ends.first_read, earlier.first_read) is null, struct(struct(coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)) is not null as is_told, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).sequence_1 is not null as has_sequence_1, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).sequence_1 as sequence_1, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).is_stream is not null as has_is_stream, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).is_stream as is_stream, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).position is not null as has_position, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).position as position, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).supplied_num is not null as has_supplied_num, coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)).supplied_num as supplied_num) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(ends._sequence_num as bigint), -9223372036854775807) as line, 3 as tie, coalesce(ends._event_id, '') as event),
        struct(struct(least(ends.first_read, earlier.first_read) is not null as is_told, least(ends.first_read, earlier.first_read).sequence_1 is not null as has_sequence_1, least(ends.first_read, earlier.first_read).sequence_1 as sequence_1, least(ends.first_read, earlier.first_read).is_stream is not null as has_is_stream, least(ends.first_read, earlier.first_read).is_stream as is_stream, least(ends.first_read, earlier.first_read).position is not null as has_position, least(ends.first_read, earlier.first_read).position as position, least(ends.first_read, earlier.first_read).supplied_num is not null as has_supplied_num, least(ends.first_read, earlier.first_read).supplied_num as supplied_num) as sequence, coalesce(cast(null as bigint), -9223372036854775807) as batch, coalesce(cast(null as bigint), -9223372036854775807) as line, 0 as tie, coalesce('', '') as event)) as _tidemark_bound,
    'SNAPSHOT' as _source_operation,
    ends._event_id,
    ends._sequence_num,
    coalesce(ends.last_read, (select max(_sequence_by) from shop.customers_in_sequence__log)) as _sequence_by,
    ends._event_time,
    cast(null as string) as _transaction_id,
    ends._offset,
    cast(null as string) as _moved_from,
    true as _tidemark_is_new
from (
    select
        _offset,
        coalesce(
            max(if(_source_operation = 'SNAPSHOT', _event_id, null)),
                md5(concat_ws('|', 'snapshot', _offset, max(_event_id)))
        ) as _event_id,
        min(if(_source_operation = 'SNAPSHOT', null, _sequence_by)) as first_read,
        max(if(_source_operation = 'SNAPSHOT', null, _sequence_by)) as last_read,
        max(_sequence_num) as _sequence_num,
        max(_event_time) as _event_time
    from (
        select
            _offset,
            _source_operation,
            _sequence_by,
            _event_id,
            _event_time,
            _sequence_num,
            _snapshot_mark
        from staged_in_sequence
        where
            _is_usable and _is_snapshot and _offset is not null
            and _source_operation in ('READ', 'SNAPSHOT') and not coalesce(_snapshot_mark = 'incremental', false)
        union all
        select
            log._offset,
            log._source_operation,
            log._sequence_by,
            log._event_id,
            log._event_time,
            log._sequence_num,
            cast(null as string) as _snapshot_mark
        from shop.customers_in_sequence__log as log
        left semi join (
            select _offset from shop.customers_in_sequence__log
            where _source_operation = 'READ' and _commit_id >= 260304093000123
                and _superseded_by is null
        ) as read on log._offset = read._offset
        left anti join (
            select _offset from shop.customers_in_sequence__log where _source_operation = 'SNAPSHOT' and _operation = 'T'
                and _superseded_by is null
        ) as ended on log._offset = ended._offset
        where log._source_operation = 'READ' and log._superseded_by is null
    )
    group by _offset
    having
        max(_snapshot_mark in ('last', 'last_in_data_collection', 'end'))
        or max(_sequence_by) < (select max(_sequence_by) from staged_in_sequence where _reject_reason is null
            and not _is_snapshot)
) as ends
left join (
    select
        _offset,
        min_by(_sequence_by, struct(_sequence_by is not null as is_told, _sequence_by.sequence_1 is not null as has_sequence_1, _sequence_by.sequence_1 as sequence_1, _sequence_by.is_stream is not null as has_is_stream, _sequence_by.is_stream as is_stream, _sequence_by.position is not null as has_position, _sequence_by.position as position, _sequence_by.supplied_num is not null as has_supplied_num, _sequence_by.supplied_num as supplied_num)) filter (where _sequence_by is not null) as first_read
    from shop.customers_in_sequence__log
    where _source_operation in ('READ', 'INSERT', 'UPSERT') and _superseded_by is null
    group by _offset
) as earlier on ends._offset = earlier._offset
union all
select
    logged.`id`,
    logged.`full name`,
    logged.`phone`,
    logged.`balance`,
    case logged._source_operation when 'TRUNCATE' then 'close' when 'SNAPSHOT' then 'close'
        when 'ADD_COLUMN' then 'fill' else 'none' end as _tidemark_effect,
    if(logged._source_operation = 'ADD_COLUMN', array_compact(array(if(logged.`id` is null, 'id', null), if(logged.`full name` is null, 'full name', null), if(logged.`phone` is null, 'phone', null), if(logged.`balance` is null, 'balance', null))), logged._unsupplied) as _unsupplied,
    struct(struct(logged._sequence_by is not null as is_told, logged._sequence_by.sequence_1 is not null as has_sequence_1, logged._sequence_by.sequence_1 as sequence_1, logged._sequence_by.is_stream is not null as has_is_stream, logged._sequence_by.is_stream as is_stream, logged._sequence_by.position is not null as has_position, logged._sequence_by.position as position, logged._sequence_by.supplied_num is not null as has_supplied_num, logged._sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(logged._batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(logged._sequence_num as bigint), -9223372036854775807) as line, case when logged._source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when logged._source_operation in ('DELETE', 'MOVE_OUT') then 2 when logged._source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(logged._event_id, '') as event) as _tidemark_order,
    case
        when logged._source_operation = 'TRUNCATE' then struct(struct(logged._sequence_by is not null as is_told, logged._sequence_by.sequence_1 is not null as has_sequence_1, logged._sequence_by.sequence_1 as sequence_1, logged._sequence_by.is_stream is not null as has_is_stream, logged._sequence_by.is_stream as is_stream, logged._sequence_by.position is not null as has_position, logged._sequence_by.position as position, logged._sequence_by.supplied_num is not null as has_supplied_num, logged._sequence_by.supplied_num as supplied_num) as sequence, coalesce(cast(logged._batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(logged._sequence_num as bigint), -9223372036854775807) as line, case when logged._source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when logged._source_operation in ('DELETE', 'MOVE_OUT') then 2 when logged._source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(logged._event_id, '') as event)
        when logged._source_operation = 'SNAPSHOT' then struct(struct(reads.first_read is not null as is_told, reads.first_read.sequence_1 is not null as has_sequence_1, reads.first_read.sequence_1 as sequence_1, reads.first_read.is_stream is not null as has_is_stream, reads.first_read.is_stream as is_stream, reads.first_read.position is not null as has_position, reads.first_read.position as position, reads.first_read.supplied_num is not null as has_supplied_num, reads.first_read.supplied_num as supplied_num) as sequence, coalesce(cast(null as bigint), -9223372036854775807) as batch, coalesce(cast(null as bigint), -9223372036854775807) as line, 0 as tie, coalesce('', '') as event)
    end as _tidemark_bound,
    logged.`_source_operation`,
    logged.`_event_id`,
    logged.`_sequence_num`,
    logged.`_sequence_by`,
    logged.`_event_time`,
    logged.`_transaction_id`,
    logged.`_offset`,
    logged.`_moved_from`,
    false as _tidemark_is_new
from shop.customers_in_sequence__log as logged
left join (
    select
        _offset,
        min_by(_sequence_by, struct(_sequence_by is not null as is_told, _sequence_by.sequence_1 is not null as has_sequence_1, _sequence_by.sequence_1 as sequence_1, _sequence_by.is_stream is not null as has_is_stream, _sequence_by.is_stream as is_stream, _sequence_by.position is not null as has_position, _sequence_by.position as position, _sequence_by.supplied_num is not null as has_supplied_num, _sequence_by.supplied_num as supplied_num)) filter (where _sequence_by is not null) as first_read
    from shop.customers_in_sequence__log
    where _source_operation in ('READ', 'INSERT', 'UPSERT') and _superseded_by is null
    group by _offset
) as reads on logged._offset = reads._offset and logged._source_operation = 'SNAPSHOT'
where logged._superseded_by is null and logged._operation = 'T'
