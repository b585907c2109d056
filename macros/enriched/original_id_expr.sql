{#- The id that a stored event came with: that of its first `duplicate` context, else its own. -#}
{%- macro original_id_expr() -%}
    {%- set found = "regexp_extract(derived_contexts, '\"schema\"[ ]*:[ ]*\"iglu:com\\\\.snowplowanalytics\\\\.snowplow/duplicate/jsonschema/1-0-[0-9]+\"[ ]*,[ ]*\"data\"[ ]*:[ ]*[{][ ]*\"originalEventId\"[ ]*:[ ]*\"([^\"]+)\"', 1)" -%}
    {{ return("lower(coalesce(nullif(" ~ found ~ ", ''), event_id))") }}
{%- endmacro -%}
