with messages as (
    select
    * except (_message, _fields, _own, _former, _has_before, _time_text, _number_text),
    case when _time_text rlike '^-?[1-9][0-9]{17,18}$' then case when try_cast(_time_text as bigint) is not null then timestamp_micros(bigint(floor(try_cast(_time_text as bigint) / 1000bd))) end when _time_text rlike '^-?[1-9][0-9]{14,16}$' then case when try_cast(_time_text as bigint) between -62135596800000000 and 253402300799999999 then timestamp_micros(try_cast(_time_text as bigint)) end else case when _time_text rlike '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[-+][0-9]{2}(:?[0-9]{2})?)?|Z)?$' and try_cast(regexp_replace(regexp_replace(regexp_replace(_time_text, '^(.{10})Z?$', '$1T00:00'), '^(.{16})(?!:)', '$1:00'), '^(.{10}[^-+Z]+)$', '$1Z') as timestamp) between timestamp'0001-01-01T00:00:00Z' and timestamp'9999-12-31T23:59:59.999999Z' then try_cast(regexp_replace(regexp_replace(regexp_replace(_time_text, '^(.{10})Z?$', '$1T00:00'), '^(.{16})(?!:)', '$1:00'), '^(.{10}[^-+Z]+)$', '$1Z') as timestamp) end end as _event_time,
    _fields is null or not json_array_length(concat('[', _raw_payload, ',0]')) <=> 2
        or (_number_text is not null and _supplied_num is null) as _is_broken,
    (contains(cast(_message as string), 'Infinity') and length(cast(_message as string)) - length(replace(cast(_message as string), 'Infinity', '')) > length(_raw_payload) - length(replace(_raw_payload, 'Infinity', ''))) as _tidemark_has_infinity,
    is_variant_null(_message) as _is_tombstone,
    _time_text is not null and case when _time_text rlike '^-?[1-9][0-9]{17,18}$' then case when try_cast(_time_text as bigint) is not null then timestamp_micros(bigint(floor(try_cast(_time_text as bigint) / 1000bd))) end when _time_text rlike '^-?[1-9][0-9]{14,16}$' then case when try_cast(_time_text as bigint) between -62135596800000000 and 253402300799999999 then timestamp_micros(try_cast(_time_text as bigint)) end else case when _time_text rlike '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[-+][0-9]{2}(:?[0-9]{2})?)?|Z)?$' and try_cast(regexp_replace(regexp_replace(regexp_replace(_time_text, '^(.{10})Z?$', '$1T00:00'), '^(.{16})(?!:)', '$1:00'), '^(.{10}[^-+Z]+)$', '$1Z') as timestamp) between timestamp'0001-01-01T00:00:00Z' and timestamp'9999-12-31T23:59:59.999999Z' then try_cast(regexp_replace(regexp_replace(regexp_replace(_time_text, '^(.{10})Z?$', '$1T00:00'), '^(.{16})(?!:)', '$1:00'), '^(.{10}[^-+Z]+)$', '$1Z') as timestamp) end end is null as _time_is_broken,
    md5(cast(_message as string)) as _content,
    if(_operation = 'DELETE' and _has_before, cast(null as map<string,string>), _own) as _after,
    case
        when _operation = 'DELETE'
            and _has_before then map_zip_with(_own, _former, (name, own, former) -> coalesce(own, former))
        when _has_before then _former
    end as _before
from (
    select
        *,
        _fields['_database'] as _database,
        _fields['_table'] as _table,
        _fields['_offset'] as _offset,
        _fields['_transaction_id'] as _transaction_id,
        _fields['_schema'] as _schema,
        _fields['_primary_key'] as _primary_key,
        _fields['_prev_table'] as _prev_table,
        coalesce(_fields['_is_snapshot'] = 'true', false) as _is_snapshot,
        coalesce(upper(_fields['_operation']),
            null) as _operation,
        _fields['_sequence_num'] as _number_text,
        map_filter(_fields, (name, text) -> not startswith(name, '_before_')
            and name not in ('_database', '_table', '_offset', '_sequence_num', '_transaction_id', '_is_snapshot', '_event_time', '_operation', '_schema', '_primary_key', '_prev_table')) as _own,
        transform_keys(map_filter(_fields, (name, text) -> startswith(name, '_before_')),
            (name, text) -> substr(name, 9)) as _former,
        exists(map_keys(_fields), name -> startswith(name, '_before_')) as _has_before,
        try_cast(_fields['_sequence_num'] as bigint) as _supplied_num,
        _fields['_event_time'] as _time_text
    from (
        select
            value as _raw_payload,
            not is_valid_utf8(value) as _is_malformed,
            _landing_num,
            _landing_num as _tidemark_line_num,
            try_parse_json(value) as _message,
            try_cast(try_parse_json(value) as map<string,string>) as _fields
        from arrived_lines
        where trim(value) <> ''
    )
)
),

identified as (
    select
        *,
        case
            when _supplied_num is not null
                then concat_ws('|', 'num', _database, _table, _supplied_num, _operation)
            when _offset is not null then concat_ws('|', 'offset', _database, _table, _offset, _operation)
            when _event_time is not null or _transaction_id is not null or _landing_num is null then 'content'
            else concat('line|', _tidemark_line_num)
        end as _identity,
        (lower(concat_ws('.', _table)) in ('shop.customers')
        or lower(concat_ws('.', cast(null as string), _table)) in ('shop.customers')
        or lower(concat_ws('.', _database, _table)) in ('shop.customers')
        or lower(concat_ws('.', _database, cast(null as string), _table)) in ('shop.customers'))
        or (_prev_table is not null and (lower(concat_ws('.', _prev_table)) in ('shop.customers')
        or lower(concat_ws('.', cast(null as string), _prev_table)) in ('shop.customers')
        or lower(concat_ws('.', _database, _prev_table)) in ('shop.customers')
        or lower(concat_ws('.', _database, cast(null as string), _prev_table)) in ('shop.customers'))) as _is_ours
    from messages
)

select
    * except (_is_ours, _is_broken, _is_malformed, _tidemark_has_infinity, _is_tombstone, _time_is_broken,
        _raw_payload, _operation),
    if(_is_snapshot and _operation in ('INSERT', 'UPSERT'), 'READ', _operation) as _operation,
    if(_is_malformed, concat('not UTF-8 (byte 0x', hex(substring(cast(_raw_payload as binary), octet_length(substring_index(make_valid_utf8(_raw_payload), '\uFFFD', 1)) + 1, 1)), ', shown as ISO-8859-1): ', decode(cast(_raw_payload as binary), 'ISO-8859-1')), _raw_payload) as _raw_payload,
    case
        when _is_tombstone then 'ignored'
        when _is_broken then 'unreadable'
        when _operation in ('CREATE_TABLE', 'DROP_TABLE', 'ALTER_TABLE', 'RENAME_TABLE', 'CREATE_DATABASE', 'DROP_DATABASE')
            and not (_is_malformed or _time_is_broken) then 'ddl'
        when not _is_ours or _operation = 'COMMIT' then 'ignored'
        when _is_malformed or _tidemark_has_infinity then 'unreadable'
        when _time_is_broken then 'unreadable'
        when _operation in ('INSERT', 'UPDATE', 'UPSERT', 'READ', 'DELETE') then 'row'
        when _operation in ('TRUNCATE', 'TRUNCATE_TABLE') then 'truncate'
        else 'unreadable'
    end as _kind,
    case
        when _is_broken or _is_malformed or _tidemark_has_infinity then 'unreadable'
        when _time_is_broken then 'cast_failed: _event_time'
        else concat('unknown_operation: ', coalesce(_operation, 'NULL'))
    end as _problem,
    coalesce(_supplied_num, _landing_num) as _sequence_num,
    concat_ws('|', _identity, _content) as _group,
    cast(null as array<bigint>) as _position,
    cast(null as bigint) as _total_order,
    if(_is_snapshot, 'true', cast(null as string)) as _snapshot_mark,
    cast(null as string) as _delivery_hash,
    false as _may_be_move,
    cast(null as string) as _schema_text,
    cast(null as string) as _ddl,
    false as _is_captured,
    cast(null as string) as _ddl_database,
    cast(null as string) as _table_changes,
    _raw_payload as _after_json
from identified
