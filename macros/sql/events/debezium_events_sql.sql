{#-
    Debezium envelopes as canonical events, images still as text by column name (`_image`, `_before`). `arrived` has the
    JSON text in `value`: an envelope, one within {topic, key, value}, with inline schema or without. What concerns
    other tables or is no change is `ignored`; what cannot be understood is `unreadable`, with a reason.
-#}
{%- macro debezium_events_sql(cfg, tables, arrived) -%}
{%- set fields = [
    ('before', 'variant'), ('after', 'variant'), ('source', tidemark._source_struct()), ('op', 'string'), ('ts_ms', 'bigint'),
    ('ts_us', 'bigint'), ('transaction', 'struct<id: string, total_order: bigint>'), ('ddl', 'string'),
    ('databaseName', 'string', 'database_name'), ('tableChanges', 'string', 'table_changes'), ('status', 'string'),
] -%}
with messages as (
    select
        *,
        try_parse_json(value) as _message
    from {{ arrived }}
    where trim(value) <> ''
),

unwrapped as (
    select
        value as _raw_payload,
        _landing_num,
        {#- the type of a variant costs as much as its parsing; what was parsed and begins with a brace is an object #}
        _message is null or not value rlike '^\\s*[{]' as _is_broken,
        is_variant_null(variant_get(_message, '$.value')) or is_variant_null(variant_get(_message, '$.value.payload')) or is_variant_null(_message) as _is_tombstone,
        coalesce(try_variant_get(_message, '$.key.payload', 'variant'), try_variant_get(_message, '$.key', 'variant')) as _key,
        coalesce(
            variant_get(_message, '$.value.payload'),
            {#- a column of an image is not at this level, so an envelope is told by its own fields #}
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
        {%- for field in fields %}
        try_variant_get(_envelope, '$.{{ field[0] }}', '{{ field[1] }}') as {{ field[-1] if field | length > 2 else field[0] }} {{- ',' if not loop.last }}
        {%- endfor %}
    from unwrapped
),

sources as (
    select
        *,
        source.connector as _connector,
        after is not null and not is_variant_null(after) as _has_after,
        before is not null and not is_variant_null(before) as _has_before,
        coalesce(source.snapshot, 'false') not in ('false', 'null') as _is_snapshot,
        {{ tidemark._is_table_expr(tables, 'source.db', 'source.schema', 'source.table') | indent(8) }} as _is_ours
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
                then {{ tidemark._lsn_numbers_expr(['source.commit_lsn', 'source.change_lsn']) }} || array(source.event_serial_no)
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
    {#- Capture gives each change an identity of its own and lands it once: nothing is left to be told by content. #}
    if(
        _landed_id is not null and op <> 'r',
        concat_ws('|', _connector, source.name, 'landed', _landed_id),
        concat_ws('|', _connector, source.name, _offset, source.event_serial_no, op)
    ) as _identity,
    {#- Rows of a snapshot share one position, so they are told apart by what they hold. #}
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
{%- endmacro -%}


{%- macro _source_struct() -%}
    {{ return(
        'struct<connector: string, name: string, ts_ms: bigint, ts_us: bigint, snapshot: string, db: string, schema: string, '
        ~ 'table: string, txId: string, lsn: bigint, gtid: string, file: string, pos: bigint, row: bigint, change_lsn: string, '
        ~ 'commit_lsn: string, event_serial_no: bigint, scn: string, rs_id: string, ssn: bigint>'
    ) }}
{%- endmacro -%}


{#- Whether an event is of one of these tables, each named with or without database and schema. -#}
{%- macro _is_table_expr(tables, database, schema, name) -%}
    {%- if not tables -%}{{ return('true') }}{%- endif -%}
    {%- set literals = [] -%}
    {%- for table in tables -%}
        {%- do literals.append(tidemark.string_literal(table | lower)) -%}
    {%- endfor -%}
    {%- set wanted = literals | join(', ') -%}
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
        {%- do terms.append("transform(split(coalesce(" ~ column ~ ", '0:0:0'), ':'), part -> cast(conv(part, 16, 10) as bigint))") -%}
    {%- endfor -%}
    {{ return(terms | join(' || ')) }}
{%- endmacro -%}
