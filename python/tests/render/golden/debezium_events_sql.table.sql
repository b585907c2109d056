with messages as (
    select
        value as _raw_payload,
        not is_valid_utf8(value) as _is_malformed,
        _landing_num,
        _landing_num as _tidemark_line_num,
        from_json(
            value,
            'struct<before: variant, after: variant, source: struct<connector: string, name: string, ts_ms: string, ts_us: string, snapshot: string, db: string, schema: string, table: string, txId: string, lsn: string, gtid: string, server_id: string, file: string, pos: string, row: string, change_lsn: string, commit_lsn: string, event_serial_no: string, scn: string, rs_id: string, ssn: string>, op: string, ts_ms: string, ts_us: string, transaction: struct<id: string, total_order: string>, ddl: string, databaseName: string, tableChanges: string, status: string, schema: string, payload: struct<before: variant, after: variant, source: struct<connector: string, name: string, ts_ms: string, ts_us: string, snapshot: string, db: string, schema: string, table: string, txId: string, lsn: string, gtid: string, server_id: string, file: string, pos: string, row: string, change_lsn: string, commit_lsn: string, event_serial_no: string, scn: string, rs_id: string, ssn: string>, op: string, ts_ms: string, ts_us: string, transaction: struct<id: string, total_order: string>, ddl: string, databaseName: string, tableChanges: string, status: string>, key: variant, value: struct<before: variant, after: variant, source: struct<connector: string, name: string, ts_ms: string, ts_us: string, snapshot: string, db: string, schema: string, table: string, txId: string, lsn: string, gtid: string, server_id: string, file: string, pos: string, row: string, change_lsn: string, commit_lsn: string, event_serial_no: string, scn: string, rs_id: string, ssn: string>, op: string, ts_ms: string, ts_us: string, transaction: struct<id: string, total_order: string>, ddl: string, databaseName: string, tableChanges: string, status: string, schema: string, payload: struct<before: variant, after: variant, source: struct<connector: string, name: string, ts_ms: string, ts_us: string, snapshot: string, db: string, schema: string, table: string, txId: string, lsn: string, gtid: string, server_id: string, file: string, pos: string, row: string, change_lsn: string, commit_lsn: string, event_serial_no: string, scn: string, rs_id: string, ssn: string>, op: string, ts_ms: string, ts_us: string, transaction: struct<id: string, total_order: string>, ddl: string, databaseName: string, tableChanges: string, status: string>>, _id: string, _corrupt: string>',
            map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', 'columnNameOfCorruptRecord',
                '_corrupt')
        ) as _message
    from arrived_lines
    where trim(value) <> ''
),

unwrapped as (
    select
        _raw_payload,
        _is_malformed,
        _landing_num,
        _tidemark_line_num,
        _message.key as _key,
        _message._id as _landed_id,
        coalesce(_message.value.schema, _message.schema) as _schema_text,
        not _raw_payload rlike '^\\s*[{]' or not json_array_length(concat('[', _raw_payload, ',0]')) <=> 2
            or (_message._corrupt is not null and try_parse_json(_raw_payload) is null) as _is_broken,
        case
            when _message.value.payload is not null then _message.value.payload
            when _message.value is not null then struct(_message.value.`before`, _message.value.`after`, _message.value.`source`, _message.value.`op`, _message.value.`ts_ms`, _message.value.`ts_us`, _message.value.`transaction`, _message.value.`ddl`, _message.value.`databaseName`, _message.value.`tableChanges`, _message.value.`status`)
            when _message.payload is not null then _message.payload
            else struct(_message.`before`, _message.`after`, _message.`source`, _message.`op`, _message.`ts_ms`, _message.`ts_us`, _message.`transaction`, _message.`ddl`, _message.`databaseName`, _message.`tableChanges`, _message.`status`)
        end as _envelope
    from messages
),

envelopes as (
    select
        _raw_payload,
        _is_malformed,
        _landing_num,
        _tidemark_line_num,
        _is_broken,
        _key,
        _schema_text,
        _landed_id,
        _envelope.*,
        if(_envelope.op is null, try_parse_json(_raw_payload), null) as _message
    from unwrapped
),

sources as (
    select
        *,
        source.connector as _connector,
        after is not null and not is_variant_null(after) as _has_after,
        before is not null and not is_variant_null(before) as _has_before,
        try_cast(before as map<string,string>) as _before_texts,
        try_cast(after as map<string,string>) as _after_texts,
        coalesce(source.snapshot, 'false') not in ('false', 'null') as _is_snapshot,
        is_variant_null(variant_get(_message, '$.value'))
            or is_variant_null(variant_get(_message, '$.value.payload'))
                or is_variant_null(_message) as _is_tombstone,
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
            when _connector = 'postgresql' then array(cast(source.lsn as bigint))
            when _connector in ('mysql', 'mariadb')
                then array(cast(regexp_extract(source.file, '([0-9]+)$', 1) as bigint),
                    cast(source.pos as bigint), cast(source.row as bigint))
            when _connector = 'sqlserver'
                then transform(split(coalesce(source.commit_lsn, '0:0:0'), ':'), part -> cast(conv(part, 16, 10) as bigint)) || transform(split(coalesce(source.change_lsn, '0:0:0'), ':'), part -> cast(conv(part, 16, 10) as bigint)) || array(cast(source.event_serial_no as bigint))
            when _connector = 'oracle' then array(cast(source.scn as bigint), cast(source.ssn as bigint))
        end as _position,
        case
            when _connector = 'postgresql' then concat_ws(':', source.`txId`, source.lsn)
            when _connector in ('mysql', 'mariadb') then concat_ws(':', source.file, source.pos, source.row)
            when _connector = 'sqlserver' then concat_ws(' ', source.commit_lsn, source.change_lsn)
            when _connector = 'oracle'
                then concat_ws(':', source.scn, source.`txId`, source.rs_id, source.ssn)
        end as _offset,
        md5(concat_ws('|', coalesce(to_json(_before_texts), ''),
            coalesce(to_json(_after_texts), ''))) as _content
    from sources
)

select
    case
        when (_is_tombstone or op = 'm' or status is not null)
            and not (_is_broken and startswith(ltrim(_raw_payload), '{')) then 'ignored'
        when _is_broken then 'unreadable'
        when op is not null and source.table is null then 'unreadable'
        when op is not null and not _is_ours then 'ignored'
        when _is_malformed then 'unreadable'
        when op in ('t', 'snapshot') then 'truncate'
        when op in ('c', 'r', 'u') and not _has_after then 'unreadable'
        when op in ('c', 'r', 'u', 'd') then 'row'
        when op is not null then 'unreadable'
        when ddl is not null or `tableChanges` is not null then 'ddl'
        when ts_ms is not null then 'ignored'
        else 'unreadable'
    end as _kind,
    case
        when _is_broken or _is_malformed then 'unreadable'
        when op is not null and source.table is null then 'no_source_table'
        when op in ('c', 'r', 'u') and not _has_after then 'no_after_image'
        when op is not null then concat('unknown_operation: ', op)
        else 'not_an_event'
    end as _problem,
    if(_is_malformed, concat('not UTF-8 (byte 0x', hex(substring(cast(_raw_payload as binary), octet_length(substring_index(make_valid_utf8(_raw_payload), '\uFFFD', 1)) + 1, 1)), ', shown as ISO-8859-1): ', decode(cast(_raw_payload as binary), 'ISO-8859-1')), _raw_payload) as _raw_payload,
    _landing_num,
    _tidemark_line_num,
    _landing_num as _sequence_num,
    _offset,
    _position,
    source.db as _database,
    concat_ws('.', source.schema, source.table) as _table,
    if(_connector = 'postgresql', cast(source.`txId` as string),
        coalesce(source.gtid, transaction.id)) as _transaction_id,
    cast(transaction.total_order as bigint) as _total_order,
    _is_snapshot,
    case op when 'r' then coalesce(source.snapshot, '') when 'snapshot' then 'end' end as _snapshot_mark,
    timestamp_micros(coalesce(cast(source.ts_us as bigint),
        cast(source.ts_ms as bigint) * 1000)) as _event_time,
    case op
        when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' when 'd' then 'DELETE'
            when 't' then 'TRUNCATE'
        when 'snapshot' then 'SNAPSHOT'
    end as _operation,
    if(
        _landed_id is not null and op <> 'r',
        concat_ws('|', _connector, source.name, 'landed', _landed_id),
        concat_ws('|', _connector, source.name, _offset, source.event_serial_no, op,
                if(_connector in ('mysql', 'mariadb') and op <> 'r', coalesce(source.gtid, source.server_id),
                    null))
    ) as _identity,
    concat_ws('|', _offset, if(op = 'r' or _offset is null, _content, null),
        if(_offset is null and _landed_id is null, _landing_num, null), source.name) as _group,
    _content,
    if(coalesce(ts_us, transaction.total_order) is null, null, md5(_raw_payload)) as _delivery_hash,
    cast(after as string) as _after_json,
    if(op = 'd', null, _after_texts) as _after,
    if(
        _has_before or op <> 'd', _before_texts, coalesce(
            try_cast(coalesce(try_variant_get(_key, '$.payload', 'variant'), _key) as map<string,string>),
            try_cast(try_parse_json(try_cast(coalesce(try_variant_get(_key, '$.payload', 'variant'), _key) as string)) as map<string,string>),
            if(is_variant_null(coalesce(try_variant_get(_key, '$.payload', 'variant'), _key)), null, map('id', try_cast(coalesce(try_variant_get(_key, '$.payload', 'variant'), _key) as string)))
        )
    ) as _before,
    cast(null as string) as _schema,
    cast(null as string) as _primary_key,
    cast(null as string) as _prev_table,
    cast(null as bigint) as _supplied_num,
    op = 'c' and _connector in ('postgresql', 'mysql', 'mariadb', 'sqlserver') as _may_be_move,
    _schema_text,
    if(op is null, ddl, null) as _ddl,
    _landed_id is not null as _is_captured,
    `databaseName` as _ddl_database,
    `tableChanges` as _table_changes
from positions
