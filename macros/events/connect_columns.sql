{#- The columns of a Kafka Connect struct schema (`fields` of an event's `before` or `after`): how their values are written and the
    Spark type that holds them, as {name, encoding, type, optional} and, if the schema has one, `default` as the text of a value in that
    encoding. -#}
{%- macro connect_columns(fields) -%}
    {{ return(adapter.call_function('tidemark.rules.source_types.connect_columns', fields)) }}
{%- endmacro -%}
