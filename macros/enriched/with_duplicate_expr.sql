{#- Derived contexts with a `duplicate` context, which names the id that the event came with, before the
    others. -#}
{%- macro with_duplicate_expr(derived_contexts, original_id) -%}
    {%- set duplicate = "concat('{\"schema\":\"iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0\",\"data\":', "
        ~ tidemark.duplicate_data_expr(original_id) ~ ", '}')" -%}
    {#- in a replacement `$1` is a group, and `\` takes away what comes next to mean -#}
    {%- set replacement = 'replace(replace(' ~ duplicate ~ ', ' ~ tidemark.string_literal('\\') ~ ', '
        ~ tidemark.string_literal('\\\\') ~ "), '$', "
        ~ tidemark.string_literal('\\$') ~ ')' -%}
    {#- atomic where it is empty: the first array of that name, not any that is -#}
    {%- set opening = '(?s)^(.*?"data"[ \\t\\r\\n]*:[ \\t\\r\\n]*\\[)[ \\t\\r\\n]*' -%}
    {{ return(
        'case when ' ~ derived_contexts
            ~ " is null then "
            ~ "concat('{\"schema\":\"iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1\",\"data\":[', "
        ~ duplicate ~ ", ']}') when " ~ derived_contexts ~ ' rlike '
            ~ tidemark.string_literal('(?>' ~ opening ~ ')\\]') ~ ' then regexp_replace('
        ~ derived_contexts ~ ', ' ~ tidemark.string_literal(opening) ~ ", concat('$1', " ~ replacement
            ~ ')) else regexp_replace('
        ~ derived_contexts ~ ', ' ~ tidemark.string_literal(opening) ~ ", concat('$1', " ~ replacement
            ~ ", ',')) end"
    ) }}
{%- endmacro -%}

{#- The data of a `duplicate` context as JSON. -#}
{%- macro duplicate_data_expr(original_id) -%}
    {{ return("to_json(named_struct('originalEventId', " ~ original_id ~ '))') }}
{%- endmacro -%}
