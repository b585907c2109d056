{#- The value of a canonical column from its text in the TSV, NULL where it cannot be read; timestamps are UTC. -#}
{%- macro canonical_value_expr(column) -%}
    {%- set text = tidemark.quote_identifier(column['name']) -%}
    {%- if column['type'] == 'string' -%}
        {{ return(text) }}
    {%- elif column['type'] == 'boolean' -%}
        {{ return('case ' ~ text ~ " when '1' then true when '0' then false end") }}
    {%- elif column['type'] == 'timestamp' -%}
        {{ return("try_cast(concat(rtrim('Z', " ~ text ~ "), 'Z') as timestamp)") }}
    {%- endif -%}
    {{ return('try_cast(' ~ text ~ ' as ' ~ column['type'] ~ ')') }}
{%- endmacro -%}


{#-
    Why the text of a canonical column cannot be used, NULL if it can: stricter than Spark's casts, which read ' 1 ',
    1d or 2026-3-4 too. `envelope` is the column that has the parsed JSON of contexts and self-describing events.
-#}
{%- macro canonical_problem_expr(column, envelope=none) -%}
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
            {%- do fits.append('forall(' ~ envelope ~ '[0].data, x -> ' ~ tidemark._is_entity_expr('x') ~ ')') -%}
        {%- else -%}
            {%- do fits.append(tidemark._is_entity_expr(envelope ~ '[0].data')) -%}
        {%- endif -%}
        {{ return('if(' ~ text ~ ' is not null and not coalesce(' ~ fits | join(' and ') ~ ', false), ' ~ failed ~ ', null)') }}
    {%- elif column['name'] == 'event_id' -%}
        {{ return("case when " ~ text ~ " is null then 'null_value: event_id' when " ~ text
            ~ " not rlike '(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\\\z' then " ~ failed ~ ' end') }}
    {%- elif column['type'] == 'boolean' -%}
        {{ return('if(' ~ text ~ " not in ('0', '1'), " ~ failed ~ ', null)') }}
    {%- elif column['type'] in forms -%}
        {%- set bad = text ~ ' not rlike ' ~ tidemark.string_literal(forms[column['type']]) ~ ' or ' ~ tidemark.canonical_value_expr(column) ~ ' is null' -%}
        {%- if column['name'] == 'collector_tstamp' -%}
            {{ return('case when ' ~ text ~ " is null then 'null_value: collector_tstamp' when " ~ bad ~ ' then ' ~ failed ~ ' end') }}
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


{#-
    The parsed JSON of `contexts`, `derived_contexts` or `unstruct_event`: an array of it and its text's hash, which is
    last and second only if the text is one JSON object: Spark's parser passes over what follows a value.
-#}
{%- macro envelope_expr(name, text=none) -%}
    {%- set text = text or name -%}
    {%- set entity = 'struct<schema: string, data: variant>' -%}
    {%- set data = entity if name == 'unstruct_event' else 'array<' ~ entity ~ '>' -%}
    {{ return("from_json(concat('[', " ~ text ~ ", ',{\"schema\":', xxhash64(" ~ text ~ "), '}]'), 'array<struct<schema: string, data: " ~ data
        ~ ">>', map('allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false'))") }}
{%- endmacro -%}


{#- The fingerprint of an event: its own, or else a hash of its columns' texts but those left out. -#}
{%- macro fingerprint_expr(left_out) -%}
    {%- set hashed = [] -%}
    {%- for column in tidemark.canonical_columns() if column['name'] not in left_out -%}
        {%- do hashed.append({'name': column['name'], 'type': 'string'}) -%}
    {%- endfor -%}
    {{ return('coalesce(event_fingerprint, ' ~ tidemark.row_hash_expr(hashed, 'md5') ~ ')') }}
{%- endmacro -%}


{#- The id of a synthetic duplicate: the UUID, version 5, of `<original id>:<fingerprint>` in a namespace of our own. -#}
{%- macro synthetic_id_expr(event_id, fingerprint) -%}
    {#- tidemark.shred.canonical.SYNTHETIC_NAMESPACE; ids are stored, so it never changes -#}
    {%- set digest = "sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(" ~ event_id ~ ", ':', " ~ fingerprint ~ ') as binary)))' -%}
    {%- set variant = "substr('89ab', 1 + pmod(conv(substr(" ~ digest ~ ', 17, 1), 16, 10), 4), 1)' -%}
    {{ return(
        "concat_ws('-', substr(" ~ digest ~ ', 1, 8), substr(' ~ digest ~ ", 9, 4), concat('5', substr(" ~ digest ~ ', 14, 3)), concat('
        ~ variant ~ ', substr(' ~ digest ~ ', 18, 3)), substr(' ~ digest ~ ', 21, 12))'
    ) }}
{%- endmacro -%}


{#- Derived contexts with a `duplicate` context, which names the id that the event came with, before the others. -#}
{%- macro with_duplicate_expr(derived_contexts, original_id) -%}
    {%- set duplicate = "concat('{\"schema\":\"iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0\",\"data\":{\"originalEventId\":\"', " ~ original_id ~ ", '\"}}')" -%}
    {#- atomic where it is empty: the first array of that name, not any that is -#}
    {%- set opening = '(?s)^(.*?"data"[ \\t\\r\\n]*:[ \\t\\r\\n]*\\[)[ \\t\\r\\n]*' -%}
    {{ return(
        'case when ' ~ derived_contexts ~ " is null then concat('{\"schema\":\"iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1\",\"data\":[', "
        ~ duplicate ~ ", ']}') when " ~ derived_contexts ~ ' rlike ' ~ tidemark.string_literal('(?>' ~ opening ~ ')\\]') ~ ' then regexp_replace('
        ~ derived_contexts ~ ', ' ~ tidemark.string_literal(opening) ~ ", concat('$1', " ~ duplicate ~ ')) else regexp_replace('
        ~ derived_contexts ~ ', ' ~ tidemark.string_literal(opening) ~ ", concat('$1', " ~ duplicate ~ ", ',')) end"
    ) }}
{%- endmacro -%}
