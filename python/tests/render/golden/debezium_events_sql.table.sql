with messages as (
    select
        *,
        try_parse_json(value) as _message
    from arrived_lines
    where trim(value) <> ''
),

unwrapped as (
    select
        value as _raw_payload,
        _landing_num,
        _message is null or not value rlike '^\\s*[{]' as _is_broken,
        is_variant_null(variant_get(_message, '$.value')) or is_variant_null(variant_get(_message, '$.value.payload')) or is_variant_null(_message) as _is_tombstone,
        coalesce(try_variant_get(_message, '$.key.payload', 'variant'), try_variant_get(_message, '$.key', 'variant')) as _key,
        coalesce(
            variant_get(_message, '$.value.payload'),
            variant_get(_message, '$.value'),
            variant_get(_message, '$.payload'),
            _message
        ) as _envelope,
        coalesce(try_variant_get(_message, '$.value.schema', 'string'), try_variant_get(_message, '$.schema', 'string')) as _schema_text,
        try_variant_get(_message, '$._id', 'string') as _landed_id
    from messages
),

envelopes as (
    select
        _raw_payload,
        _landing_num,
        _is_broken,
        _is_tombstone,
        _key,
        _schema_text,
        _landed_id,
        try_variant_get(_envelope, '$.before', 'variant') as before,
        try_variant_get(_envelope, '$.after', 'variant') as after,
        try_variant_get(_envelope, '$.source', 'struct<connector: string, name: string, ts_ms: bigint, ts_us: bigint, snapshot: string, db: string, schema: string, table: string, txId: string, lsn: bigint, gtid: string, file: string, pos: bigint, row: bigint, change_lsn: string, commit_lsn: string, event_serial_no: bigint, scn: string, rs_id: string, ssn: bigint>') as source,
        try_variant_get(_envelope, '$.op', 'string') as op,
        try_variant_get(_envelope, '$.ts_ms', 'bigint') as ts_ms,
        try_variant_get(_envelope, '$.ts_us', 'bigint') as ts_us,
        try_variant_get(_envelope, '$.transaction', 'struct<id: string, total_order: bigint>') as transaction,
        try_variant_get(_envelope, '$.ddl', 'string') as ddl,
        try_variant_get(_envelope, '$.databaseName', 'string') as database_name,
        try_variant_get(_envelope, '$.tableChanges', 'string') as table_changes,
        try_variant_get(_envelope, '$.status', 'string') as status
    from unwrapped
),

sources as (
    select
        *,
        source.connector as _connector,
        after is not null and not is_variant_null(after) as _has_after,
        before is not null and not is_variant_null(before) as _has_before,
        coalesce(source.snapshot, 'false') not in ('false', 'null') as _is_snapshot,
        (lower(concat_ws('.', source.table)) in ('shop.customers')
        or lower(concat_ws('.', source.schema, source.table)) in ('shop.customers')
        or lower(concat_ws('.', source.db, source.table)) in ('shop.customers')
        or lower(concat_ws('.', source.db, source.schema, source.table)) in ('shop.customers')) as _is_ours
    from envelopes
),

positions as (
    select
        *,
        case
            when _connector = 'postgresql' then array(source.lsn)
            when _connector in ('mysql', 'mariadb')
                then array(cast(regexp_extract(source.file, '([0-9]+)$', 1) as bigint), source.pos, source.row)
            when _connector = 'sqlserver'
                then transform(split(coalesce(source.commit_lsn, '0:0:0'), ':'), part -> cast(conv(part, 16, 10) as bigint)) || transform(split(coalesce(source.change_lsn, '0:0:0'), ':'), part -> cast(conv(part, 16, 10) as bigint)) || array(source.event_serial_no)
            when _connector = 'oracle' then array(cast(source.scn as bigint), source.ssn)
        end as _position,
        case
            when _connector = 'postgresql' then concat_ws(':', source.`txId`, source.lsn)
            when _connector in ('mysql', 'mariadb') then concat_ws(':', source.file, source.pos, source.row)
            when _connector = 'sqlserver' then concat_ws(' ', source.commit_lsn, source.change_lsn)
            when _connector = 'oracle' then concat_ws(':', source.scn, source.`txId`, source.rs_id, source.ssn)
        end as _offset,
        md5(concat_ws('|', coalesce(cast(before as string), ''), coalesce(cast(after as string), ''))) as _content
    from sources
)

select
    case
        when _is_tombstone or op = 'm' or status is not null then 'ignored'
        when _is_broken then 'unreadable'
        when op is not null and source.table is null then 'unreadable'
        when op is not null and not _is_ours then 'ignored'
        when op = 't' then 'truncate'
        when op in ('c', 'r', 'u') and not _has_after then 'unreadable'
        when op in ('c', 'r', 'u', 'd') then 'row'
        when op is not null then 'unreadable'
        when ddl is not null then 'ddl'
        when ts_ms is not null then 'ignored'
        else 'unreadable'
    end as _kind,
    case
        when _is_broken then 'unreadable'
        when op is not null and source.table is null then 'no_source_table'
        when op in ('c', 'r', 'u') and not _has_after then 'no_after_image'
        when op is not null then concat('unknown_operation: ', op)
        else 'not_an_event'
    end as _problem,
    _raw_payload,
    _landing_num,
    _landing_num as _sequence_num,
    _offset,
    _position,
    source.db as _database,
    concat_ws('.', source.schema, source.table) as _table,
    if(_connector = 'postgresql', cast(source.`txId` as string), coalesce(source.gtid, transaction.id)) as _transaction_id,
    transaction.total_order as _total_order,
    _is_snapshot,
    if(op = 'r', coalesce(source.snapshot, ''), null) as _snapshot_mark,
    timestamp_micros(coalesce(source.ts_us, source.ts_ms * 1000)) as _event_time,
    case op when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' when 'd' then 'DELETE' when 't' then 'TRUNCATE' end as _operation,
    if(
        _landed_id is not null and op <> 'r',
        concat_ws('|', _connector, source.name, 'landed', _landed_id),
        concat_ws('|', _connector, source.name, _offset, source.event_serial_no, op)
    ) as _identity,
    concat_ws('|', source.name, _offset, if(op = 'r' or _offset is null, _content, null), if(_offset is null, _landing_num, null)) as _group,
    _content,
    if(coalesce(ts_us, transaction.total_order) is null, null, md5(_raw_payload)) as _delivery_hash,
    cast(after as string) as _after_json,
    if(op = 'd', null, try_cast(after as map<string,string>)) as _after,
    if(_has_before or op <> 'd', try_cast(before as map<string,string>), try_cast(_key as map<string,string>)) as _before,
    cast(null as string) as _schema,
    cast(null as string) as _primary_key,
    cast(null as string) as _prev_table,
    cast(null as bigint) as _supplied_num,
    op = 'c' and _connector in ('postgresql', 'mysql', 'mariadb', 'sqlserver') as _may_be_move,
    _schema_text,
    if(op is null, ddl, null) as _ddl,
    database_name as _ddl_database,
    table_changes as _table_changes
from positions
