{#- Debezium envelopes as canonical events, images still as text by column name (`_image`, `_before`).
    `arrived` has the JSON text in `value`: an envelope, one within {topic, key, value}, with inline schema or
    without. What concerns other tables or is no change is `ignored`; what cannot be understood is
    `unreadable`, with a reason. `line_num`: see line_num_expr(). `by_server`: a change of MySQL or MariaDB is
    known by its GTID or server, too, as another server may have its log position; logs of earlier versions
    know theirs without. -#}
{%- macro debezium_events_sql(cfg, tables, arrived, line_num='_landing_num', by_server=false) -%}
with {{ tidemark._envelopes_sql(arrived, line_num) }}

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
        {{ tidemark._is_table_expr(tables, 'source.db', 'source.schema', 'source.table')
            | indent(8) }} as _is_ours
    from envelopes
),

{{ tidemark._positions_sql() }}

select
    case
        when (_is_tombstone or op = 'm' or status is not null)
            and not (_is_broken and startswith(ltrim(_raw_payload), '{')) then 'ignored'
        when _is_broken then 'unreadable'
        when op is not null and source.table is null then 'unreadable'
        when op is not null and not _is_ours then 'ignored'
        when _is_malformed then 'unreadable'
        {#- the end of a snapshot concerns the whole table, as a truncate does #}
        when op in ('t', 'snapshot') then 'truncate'
        when op in ('c', 'r', 'u') and not _has_after then 'unreadable'
        when op in ('c', 'r', 'u', 'd') then 'row'
        when op is not null then 'unreadable'
        {#- SQL Server tells of changed tables without a text #}
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
    {{ tidemark.shown_text_expr('_raw_payload', '_is_malformed') }} as _raw_payload,
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
    {#- Capture gives each change an identity of its own and lands it once: nothing is left to be told by
        content. #}
    if(
        _landed_id is not null and op <> 'r',
        concat_ws('|', _connector, source.name, 'landed', _landed_id),
        concat_ws('|', _connector, source.name, _offset, source.event_serial_no, op
            {%- if by_server %},
                if(_connector in ('mysql', 'mariadb') and op <> 'r', coalesce(source.gtid, source.server_id),
                    null){% endif %})
    ) as _identity,
    {#- Rows of a snapshot share one position, so they are told apart by what they hold. #}
    concat_ws('|', _offset, if(op = 'r' or _offset is null, _content, null),
        if(_offset is null and _landed_id is null, _landing_num, null), source.name) as _group,
    _content,
    if(coalesce(ts_us, transaction.total_order) is null, null, md5(_raw_payload)) as _delivery_hash,
    cast(after as string) as _after_json,
    if(op = 'd', null, _after_texts) as _after,
    if(
        _has_before or op <> 'd', _before_texts, {{ tidemark._key_texts_expr(cfg) | indent(8) }}
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
    {%- if cfg['sequence_by'] %},
    {{ tidemark._is_key_image_expr(cfg) | indent(4) }} as _is_key_image
    {%- endif %}
from positions
{%- endmacro -%}

{#- Whether the image of a PostgreSQL delete tells no more than the key, as by a server's default replica
    identity; NULL of any other event. The other columns are NULL in it, or what Debezium makes up: their
    default, which an inline schema alone tells, or where they are NOT NULL nothing's value of their type (an
    empty text, 0, false, 1970-01-01). -#}
{%- macro _is_key_image_expr(cfg) -%}
    {%- set is_key = 'lower(name) in (' ~ tidemark.string_literals(cfg['keys'] | map('lower')) ~ ')'
        ~ ' or coalesce(map_contains_key(' ~ tidemark._key_texts_expr(cfg) ~ ', name), false)' -%}
    {%- set struct_of_nothing = '[{]("scale":0,"value":"AA=="|"srid":.*)?[}]' -%}
    {%- set is_nothing = "text is null or text rlike '^(0*(E[+-]?[0-9]+)?|0*[.]0*|false|AA==|"
        ~ struct_of_nothing
        ~ "|\\\\[\\\\]|1970-01-01.*|00:00:00.*|[0-]+|P[T0YMDHS]*)$'" -%}
    {%- set told = 'map_entries(map_filter(_before_texts, (name, text) -> not (' ~ is_key ~ ' or '
        ~ is_nothing ~ ')))' -%}
    {%- set schema = "from_json(_schema_text, 'fields array<struct<field: string, fields: "
        ~ "array<struct<field: string, default: variant>>>>')" -%}
    {%- set fields = 'flatten(transform(filter(' ~ schema
        ~ ".fields, image -> image.field = 'before'), image -> image.fields))" -%}
    {{ return("case when op = 'd' and _connector = 'postgresql' and _has_before then size(array_except(\n   "
        ~ " transform(" ~ told
        ~ ", one -> concat(one.key, '=', one.value)),\n    coalesce(transform(" ~ fields
        ~ ", one -> concat(one.field, '=', try_cast(one.default as string))), array())\n)) = 0 end") }}
{%- endmacro -%}

{#- The type of a line: an envelope, one with a schema around it, or either of them within {topic, key,
    value}. Images are variants, which keep numbers digit for digit; what a tool could have made a text of is
    a text. -#}
{%- macro _message_type() -%}
    {%- set source = 'struct<connector: string, name: string, ts_ms: string, ts_us: string, snapshot: '
        ~ 'string, db: string, schema: string, '
        ~ 'table: string, txId: string, lsn: string, gtid: string, server_id: string, file: string, pos: '
        ~ 'string, row: string, change_lsn: string, '
        ~ 'commit_lsn: string, event_serial_no: string, scn: string, rs_id: string, ssn: string>' -%}
    {%- set envelope = 'before: variant, after: variant, source: ' ~ source
        ~ ', op: string, ts_ms: string, ts_us: string, '
        ~ 'transaction: struct<id: string, total_order: string>, ddl: string, databaseName: string, '
        ~ 'tableChanges: string, status: string' -%}
    {%- set enveloped = envelope ~ ', schema: string, payload: struct<' ~ envelope ~ '>' -%}
    {{ return('struct<' ~ enveloped ~ ', key: variant, value: struct<' ~ enveloped
        ~ '>, _id: string, _corrupt: string>') }}
{%- endmacro -%}

{#- The message's key as an image: an object, its JSON as a text, or for one column of the key its value
    alone. -#}
{%- macro _key_texts_expr(cfg) -%}
    {%- set key = "coalesce(try_variant_get(_key, '$.payload', 'variant'), _key)" -%}
    {%- set terms = ['try_cast(' ~ key ~ ' as map<string,string>)'] -%}
    {%- if cfg['keys'] -%}
        {%- do terms.append('try_cast(try_parse_json(try_cast(' ~ key
            ~ ' as string)) as map<string,string>)') -%}
    {%- endif -%}
    {%- if cfg['keys'] | length == 1 -%}
        {%- do terms.append('if(is_variant_null(' ~ key ~ '), null, map('
            ~ tidemark.string_literal(cfg['keys'][0]) ~ ', try_cast(' ~ key ~ ' as string)))') -%}
    {%- endif -%}
    {{ return('coalesce(\n    ' ~ terms | join(',\n    ') ~ '\n)') }}
{%- endmacro -%}

{#- These fields of a struct as one. -#}
{%- macro _fields_expr(struct, names) -%}
    {%- set fields = [] -%}
    {%- for name in names -%}{%- do fields.append(struct ~ '.`' ~ name ~ '`') -%}{%- endfor -%}
    {{ return('struct(' ~ fields | join(', ') ~ ')') }}
{%- endmacro -%}

{#- Whether an event is of one of these tables, each named with or without database and schema. -#}
{%- macro _is_table_expr(tables, database, schema, name) -%}
    {%- if not tables -%}{{ return('true') }}{%- endif -%}
    {%- set wanted = tidemark.string_literals(tables | map('lower')) -%}
    {%- set terms = [] -%}
    {%- for parts in [[name], [schema, name], [database, name], [database, schema, name]] -%}
        {%- do terms.append("lower(concat_ws('.', " ~ parts | join(', ') ~ ')) in (' ~ wanted ~ ')') -%}
    {%- endfor -%}
    {{ return('(' ~ terms | join('\nor ') ~ ')') }}
{%- endmacro -%}

{#- LSNs of SQL Server, three hexadecimal numbers each, as one array of numbers. -#}
{%- macro _lsn_numbers_expr(columns) -%}
    {%- set terms = [] -%}
    {%- for column in columns -%}
        {%- do terms.append("transform(split(coalesce(" ~ column
            ~ ", '0:0:0'), ':'), part -> cast(conv(part, 16, 10) as bigint))") -%}
    {%- endfor -%}
    {{ return(terms | join(' || ')) }}
{%- endmacro -%}

{#- The envelope of each line, wherever in the line it stands. -#}
{%- macro _envelopes_sql(arrived, line_num) -%}
{%- set names = ['before', 'after', 'source', 'op', 'ts_ms', 'ts_us', 'transaction', 'ddl', 'databaseName',
    'tableChanges', 'status'] -%}
messages as (
    select
        value as _raw_payload,
        not is_valid_utf8(value) as _is_malformed,
        _landing_num,
        {{ line_num }} as _tidemark_line_num,
        from_json(
            value,
            '{{ tidemark._message_type() }}',
            map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', 'columnNameOfCorruptRecord',
                '_corrupt')
        ) as _message
    from {{ arrived }}
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
        {#- a field of another type is no reason to refuse a line that is JSON #}
        not _raw_payload rlike '^\\s*[{]' or not {{ tidemark.is_one_json_expr('_raw_payload') }}
            or (_message._corrupt is not null and try_parse_json(_raw_payload) is null) as _is_broken,
        {#- a column of an image is not at this level, so an envelope is told by its own fields #}
        case
            when _message.value.payload is not null then _message.value.payload
            when _message.value is not null then {{ tidemark._fields_expr('_message.value', names) }}
            when _message.payload is not null then _message.payload
            else {{ tidemark._fields_expr('_message', names) }}
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
        {#- what has no envelope is looked at as a whole, as a NULL is not told from what is not there #}
        if(_envelope.op is null, try_parse_json(_raw_payload), null) as _message
    from unwrapped
),
{%- endmacro -%}

{#- Where in its source an event stands: as numbers to order by, and as a text to know it by. -#}
{%- macro _positions_sql() -%}
positions as (
    select
        *,
        case
            when _connector = 'postgresql' then array(cast(source.lsn as bigint))
            when _connector in ('mysql', 'mariadb')
                then array(cast(regexp_extract(source.file, '([0-9]+)$', 1) as bigint),
                    cast(source.pos as bigint), cast(source.row as bigint))
            when _connector = 'sqlserver'
                then {{ tidemark._lsn_numbers_expr(['source.commit_lsn',
                    'source.change_lsn']) }} || array(cast(source.event_serial_no as bigint))
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
{%- endmacro -%}
