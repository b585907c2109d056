{#- The value of a canonical column from its text in the TSV, NULL where it cannot be read; timestamps are
    UTC. -#}
{%- macro enriched_value_expr(column) -%}
    {%- set text = tidemark.quote_identifier(column['name']) -%}
    {%- if column['type'] == 'string' -%}{{ return(text) }}{%- endif -%}
    {%- if column['type'] == 'boolean' -%}{{ return('case ' ~ text
        ~ " when '1' then true when '0' then false end") }}{%- endif -%}
    {%- if column['type'] == 'timestamp' -%}{{ return("try_cast(concat(rtrim('Z', " ~ text
        ~ "), 'Z') as timestamp)") }}{%- endif -%}
    {{ return('try_cast(' ~ text ~ ' as ' ~ column['type'] ~ ')') }}
{%- endmacro -%}

{#- Why the text of a canonical column cannot be used, NULL if it can: stricter than Spark's casts, which read
    ' 1 ', 1d or 2026-3-4 too. `envelope` is the column that has the parsed JSON of contexts and
    self-describing events. -#}
{%- macro enriched_problem_expr(column, envelope=none) -%}
    {%- set text = tidemark.quote_identifier(column['name']) -%}
    {%- set failed = "'cast_failed: " ~ column['name'] ~ "'" -%}
    {%- set forms = {
        'int': '^[+-]?[0-9]{1,10}\\z',
        'double': '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?\\z',
        'decimal(18,2)': '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?\\z',
        'timestamp': '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z?\\z',
    } -%}
    {%- if envelope -%}
        {%- set kind = 'unstruct_event' if column['name'] == 'unstruct_event' else 'contexts' -%}
        {%- set fits = [
            'size(' ~ envelope ~ ') = 2',
            envelope ~ '[1].schema = cast(xxhash64(' ~ text ~ ') as string)',
            envelope ~ '[0].schema rlike ' ~ tidemark.string_literal(
                '^iglu:com\\.snowplowanalytics\\.snowplow/' ~ kind ~ '/jsonschema/1-0-(0|[1-9][0-9]*)\\z'),
        ] -%}
        {%- if kind == 'contexts' -%}
            {%- do fits.append('forall(' ~ envelope ~ '[0].data, x -> ' ~ tidemark._is_entity_expr('x')
                ~ ')') -%}
        {%- else -%}
            {%- do fits.append(tidemark._is_entity_expr(envelope ~ '[0].data')) -%}
        {%- endif -%}
        {{ return('if(' ~ text ~ ' is not null and not coalesce(' ~ fits | join(' and ') ~ ', false), '
            ~ failed ~ ', null)') }}
    {%- elif column['name'] == 'event_id' -%}
        {{ return("case when " ~ text ~ " is null then 'null_value: event_id' when " ~ text
            ~ " not rlike '(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\\\z' then " ~ failed ~ ' end') }}
    {%- elif column['type'] == 'boolean' -%}
        {{ return('if(' ~ text ~ " not in ('0', '1'), " ~ failed ~ ', null)') }}
    {%- elif column['type'] in forms -%}
        {%- set bad = text ~ ' not rlike ' ~ tidemark.string_literal(forms[column['type']]) ~ ' or '
            ~ tidemark.enriched_value_expr(column) ~ ' is null' -%}
        {%- if column['name'] == 'collector_tstamp' -%}
            {{ return('case when ' ~ text ~ " is null then 'null_value: collector_tstamp' when " ~ bad
                ~ ' then ' ~ failed ~ ' end') }}
        {%- endif -%}
        {{ return('if(' ~ text ~ ' is not null and (' ~ bad ~ '), ' ~ failed ~ ', null)') }}
    {%- elif column['name'] in ['v_collector', 'v_etl'] -%}
        {{ return('if(' ~ text ~ " is null, 'null_value: " ~ column['name'] ~ "', null)") }}
    {%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- Whether a part of an envelope is an entity: the URI of a schema, and data. -#}
{%- macro _is_entity_expr(entity) -%}
    {{ return(entity ~ '.schema rlike ' ~ tidemark.string_literal(
        '^iglu:[a-zA-Z0-9_.-]+/[a-zA-Z0-9_-]+/[a-zA-Z0-9_-]+/[1-9][0-9]*-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)\\z'
    ) ~ ' and ' ~ entity ~ '.data is not null') }}
{%- endmacro -%}

{#- The parsed JSON of `contexts`, `derived_contexts` or `unstruct_event`: an array of it and its text's hash,
    which is last and second only if the text is one JSON object: Spark's parser passes over what follows a
    value. -#}
{%- macro envelope_expr(name, text=none) -%}
    {%- set text = text or name -%}
    {%- set entity = 'struct<schema: string, data: variant>' -%}
    {%- set data = entity if name == 'unstruct_event' else 'array<' ~ entity ~ '>' -%}
    {{ return("from_json(concat('[', " ~ text ~ ", ',{\"schema\":', xxhash64(" ~ text
        ~ "), '}]'), 'array<struct<schema: string, data: " ~ data
        ~ ">>', map('allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false'))") }}
{%- endmacro -%}
