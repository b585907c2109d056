{#- The id that a stored event came with: that of its first `duplicate` context, else its own. -#}
{%- macro original_id_expr() -%}
    {%- set pattern = '"schema"[ ]*:[ '
        ~ ']*"iglu:com\\.snowplowanalytics\\.snowplow/duplicate/jsonschema/1-0-[0-9]+"[ ]*,[ ]*"data"[ ]*:[ '
        ~ ']*[{][ ]*'
        ~ '"originalEventId"[ ]*:[ ]*("[^"\\\\]*(?:\\\\.[^"\\\\]*)*")' -%}
    {%- set found = 'regexp_extract(derived_contexts, ' ~ tidemark.string_literal(pattern) ~ ', 1)' -%}
    {{ return("lower(coalesce(nullif(get_json_object(concat('{\"id\":', " ~ found
        ~ ", '}'), '$.id'), ''), event_id))") }}
{%- endmacro -%}
