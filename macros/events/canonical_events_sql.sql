{#- Canonical events (docs block `canonical_events`), or plain rows that are upserts. With `columns` none,
    `arrived` has JSON lines in `value`, and the images are text by column name (`_after`, `_before`); else it
    has these columns, the business columns typed, and they are passed on under their own names. Of `batch`
    are read `tables`; `by_content`: with a sequence an event that comes again is known by its content,
    whatever file it comes in; `identifying`: the names of columns that an event is known by even where they
    are NULL; `line_num`: see line_num_expr(). -#}
{%- macro canonical_events_sql(cfg, batch, arrived, columns=none) -%}
{%- set tables = batch['tables'] -%}
with messages as (
    {{ tidemark._canonical_text_messages_sql(cfg, batch, arrived) if columns is none
        else tidemark._canonical_typed_messages_sql(cfg, batch, arrived, columns) }}
),

identified as (
    select
        *,
        case
            when _supplied_num is not null
                then concat_ws('|', 'num', _database, _table, _supplied_num, _operation)
            when _offset is not null then concat_ws('|', 'offset', _database, _table, _offset, _operation)
            {%- if batch.get('by_content') %}
            else 'content'
            {%- else %}
            when _event_time is not null or _transaction_id is not null or _landing_num is null then 'content'
            else concat('line|', _tidemark_line_num)
            {%- endif %}
        end as _identity,
        {{ tidemark._is_canonical_table_expr(cfg, tables, '_table') | indent(8) }}
        or (_prev_table is not null and {{ tidemark._is_canonical_table_expr(cfg, tables,
            '_prev_table') | indent(8) }}) as _is_ours
    from messages
)

select
    * except (_is_ours, _is_broken, _is_malformed, _tidemark_has_infinity, _is_tombstone, _time_is_broken,
        _raw_payload, _operation),
    {#- What a snapshot brings it has read, whatever it is called: the log tells by this where one began. #}
    if(_is_snapshot and _operation in ('INSERT', 'UPSERT'), 'READ', _operation) as _operation,
    {{ tidemark.shown_text_expr('_raw_payload', '_is_malformed') }} as _raw_payload,
    case
        when _is_tombstone then 'ignored'
        when _is_broken then 'unreadable'
        {#- whose it is, other statements of the batch may tell #}
        when _operation in ({{ tidemark.ddl_operations() | join(', ') }})
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
{%- endmacro -%}

{#- Whether an event is of one of the tables. What the setting leaves out of their names, as the database, it
    need not tell either: a statement has given them whole names. -#}
{%- macro _is_canonical_table_expr(cfg, tables, name) -%}
    {%- set is_one, short = tidemark._is_table_expr(tables, '_database', 'cast(null as string)', name), [] -%}
    {%- set least = (cfg['table'] or '').split('.') | length -%}
    {%- for table in tables -%}
        {%- set parts = table.split('.') -%}
        {%- for number in range(1, parts | length - least + 1) -%}
            {%- do short.append(parts[number:] | join('.') | lower) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return('(' ~ is_one ~ '\nor (_database is null and lower(' ~ name ~ ') in ('
        ~ tidemark.string_literals(short | unique) ~ ')))' if short else is_one) }}
{%- endmacro -%}

{%- macro _canonical_text_messages_sql(cfg, batch, arrived) -%}
{#- A delete has the values that stand before it, and those of its own, such as its place in a sequence. -#}
{%- set time = tidemark.decode_expr('_time_text', 'auto', 'timestamp') -%}
select
    * except (_message, _fields, _own, _former, _has_before, _time_text, _number_text),
    {{ time }} as _event_time,
    _fields is null or not {{ tidemark.is_one_json_expr('_raw_payload') }}
        or (_number_text is not null and _supplied_num is null) as _is_broken,
    {{ tidemark._has_infinity_expr('cast(_message as string)', '_raw_payload') }} as _tidemark_has_infinity,
    is_variant_null(_message) as _is_tombstone,
    _time_text is not null and {{ time }} is null as _time_is_broken,
    {{ tidemark._line_identity_expr(cfg, batch.get('identifying', [])) }} as _content,
    if(_operation = 'DELETE' and _has_before, cast(null as map<string,string>), _own) as _after,
    case
        when _operation = 'DELETE'
            and _has_before then map_zip_with(_own, _former, (name, own, former) -> coalesce(own, former))
        when _has_before then _former
    end as _before
from (
    select
        *,
        {%- for column in tidemark.event_columns()
            if column['name'] not in ['_sequence_num', '_operation', '_is_snapshot', '_event_time'] %}
        _fields['{{ column['name'] }}'] as {{ column['name'] }},
        {%- endfor %}
        coalesce(_fields['_is_snapshot'] = 'true', false) as _is_snapshot,
        coalesce(upper(_fields['_operation']),
            {{ "'UPSERT'" if cfg['format'] == 'rows' else 'null' }}) as _operation,
        _fields['_sequence_num'] as _number_text,
        map_filter(_fields, (name, text) -> not startswith(name, '_before_')
            and name not in ({{ tidemark.string_literals(tidemark.event_columns()
                | map(attribute='name')) }})) as _own,
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
            {{ batch.get('line_num', '_landing_num') }} as _tidemark_line_num,
            try_parse_json(value) as _message,
            try_cast(try_parse_json(value) as map<string,string>) as _fields
        from {{ arrived }}
        where trim(value) <> ''
    )
)
{%- endmacro -%}

{#- Whether JSON has a number that is beyond all doubles, which a variant has as `"Infinity"`, where the line
    says that of no text. -#}
{%- macro _has_infinity_expr(json, line) -%}
    {%- set counts = [] -%}
    {%- for text in [json, line] -%}{%- do counts.append('length(' ~ text ~ ') - length(replace(' ~ text
        ~ ", 'Infinity', ''))") -%}{%- endfor -%}
    {{ return('(contains(' ~ json ~ ", 'Infinity') and " ~ counts | join(' > ') ~ ')') }}
{%- endmacro -%}

{%- macro _canonical_typed_messages_sql(cfg, batch, arrived, columns) -%}
{%- set supplied = {} -%}
{%- for column in columns -%}
    {%- do supplied.update({column['name'] | lower: tidemark.quote_identifier(column['name'])}) -%}
{%- endfor -%}
{%- set landing_num = supplied.get('_landing_num', 'cast(null as bigint)') -%}
{%- set line_num = batch.get('line_num', '_landing_num') if '_landing_num' in supplied else landing_num -%}
{#- What a row looks like does not change where its file is read again. -#}
{%- set told = '*' if line_num in ['_landing_num', landing_num]
    else dict(supplied, _landing_num=line_num ~ ' as _landing_num').values() | join(', ') -%}
{%- set meta = tidemark.event_columns() -%}
{%- set ours = meta | map(attribute='name') | list + ['_landing_num', '_file'] -%}
{%- set others = [] -%}
{%- for column in columns if column['name'] | lower not in ours + ['_raw_payload'] -%}
    {%- do others.append(column['name']) -%}
{%- endfor -%}
select
    {%- for name in others %}
    {{ tidemark._own_or_former_expr(columns, name, supplied) }},
    {%- endfor %}
    {%- for column in meta if column['name'] not in ['_sequence_num', '_operation', '_is_snapshot'] %}
    {{ 'cast(' ~ supplied.get(column['name'], 'null') ~ ' as ' ~ column['type']
        ~ ')' }} as {{ column['name'] }},
    {%- endfor %}
    coalesce({{ supplied.get('_is_snapshot', 'false') }}, false) as _is_snapshot,
    coalesce(upper({{ supplied.get('_operation', 'cast(null as string)') }}), {{ "'UPSERT'"
        if cfg['format'] == 'rows' else 'null' }}) as _operation,
    {{ landing_num }} as _landing_num,
    {{ landing_num if line_num == '_landing_num' else line_num }} as _tidemark_line_num,
    cast({{ supplied.get('_sequence_num', 'null') }} as bigint) as _supplied_num,
    false as _is_broken,
    false as _is_malformed,
    false as _tidemark_has_infinity,
    false as _is_tombstone,
    false as _time_is_broken,
    to_json(struct({{ told }}), map('ignoreNullFields', 'false')) as _raw_payload,
    {{ tidemark._row_identity_expr(columns, batch.get('identifying', [])) }} as _content,
    cast(null as map<string,string>) as _after,
    cast(null as map<string,string>) as _before
from {{ arrived }}
{%- endmacro -%}

{#- A column of a typed event: of a delete its own value, else the one that stands before it. -#}
{%- macro _own_or_former_expr(columns, name, supplied) -%}
    {%- set quoted = tidemark.quote_identifier(name) -%}
    {%- set types = {} -%}
    {%- for column in columns -%}
        {%- do types.update({column['name'] | lower: column['type']}) -%}
    {%- endfor -%}
    {%- set former = '_before_' ~ name | lower -%}
    {%- if '_operation' not in supplied or types.get(former) != types[name | lower] -%}
        {{ return(quoted) }}
    {%- endif -%}
    {{ return("if(upper(" ~ supplied['_operation'] ~ ") = 'DELETE', coalesce(" ~ quoted ~ ', '
        ~ supplied[former] ~ '), ' ~ quoted ~ ') as ' ~ quoted) }}
{%- endmacro -%}

{#- What a row is known by: JSON of the identifying columns in their order, then of the others that have a
    value, by name. -#}
{%- macro _row_identity_expr(columns, identifying) -%}
    {%- set present = {} -%}
    {%- for column in columns if column['name'] | lower not in ['_landing_num', '_file'] -%}
        {%- do present.update({column['name'] | lower: tidemark.quote_identifier(column['name'])}) -%}
    {%- endfor -%}
    {%- set begun, later, texts = [], [], [] -%}
    {%- for name in identifying -%}
        {%- do begun.append(present.get(name | lower, 'cast(null as string)') ~ ' as '
            ~ tidemark.quote_identifier(name)) -%}
    {%- endfor -%}
    {%- for name in present | sort if name not in identifying | map('lower') | list -%}
        {%- do later.append(present[name] ~ ' as ' ~ tidemark.quote_identifier(name)) -%}
    {%- endfor -%}
    {%- if begun -%}{%- do texts.append('to_json(struct(' ~ begun | join(', ')
        ~ "), map('ignoreNullFields', 'false'))") -%}{%- endif -%}
    {%- if later -%}{%- do texts.append('to_json(struct(' ~ later | join(', ')
        ~ "), map('ignoreNullFields', 'true'))") -%}{%- endif -%}
    {{ return('md5(' ~ texts[0] ~ ')' if texts | length == 1
        else "md5(concat(" ~ texts[0] ~ ', if(' ~ texts[1] ~ " = '{}', '', " ~ texts[1] ~ ')))') }}
{%- endmacro -%}

{#- What a line is known by: its JSON; of a row without the others that are NULL, which are values of a
    change. -#}
{%- macro _line_identity_expr(cfg, identifying) -%}
    {%- if cfg['format'] != 'rows' -%}{{ return('md5(cast(_message as string))') }}{%- endif -%}
    {%- set names = [] -%}
    {%- for name in identifying -%}
        {%- do names.append(tidemark.string_literal(name | lower)) -%}
    {%- endfor -%}
    {%- set left = (' and lower(name) not in (' ~ names | join(', ') ~ ')') if names else '' -%}
    {{ return(
        'md5(cast(if(exists(map_keys(_fields), name -> _fields[name] is null' ~ left
            ~ '), parse_json(to_json(map_filter('
        ~ "try_variant_get(_message, '$', 'map<string,variant>'), (name, value) -> not "
        ~ "(is_variant_null(value)" ~ left ~ ')))), _message) as string))'
    ) }}
{%- endmacro -%}

{#- The columns of the contract of canonical events, beside the business columns. -#}
{%- macro event_columns() -%}
    {{ return(tidemark.columns_of(
        '_database string, _table string, _offset string, _sequence_num bigint, _transaction_id string, '
        ~ '_is_snapshot boolean, _event_time timestamp, _operation string, _schema string, _primary_key '
        ~ 'string, _prev_table string'
    )) }}
{%- endmacro -%}

{#- Operations that change a table or a database, as literals. -#}
{%- macro ddl_operations() -%}
    {{ return(["'CREATE_TABLE'", "'DROP_TABLE'", "'ALTER_TABLE'", "'RENAME_TABLE'", "'CREATE_DATABASE'",
        "'DROP_DATABASE'"]) }}
{%- endmacro -%}
