{#- A column or table name in back-ticks, back-ticks inside it doubled (`adapter.quote` does not double them).
    -#}
{%- macro quote_identifier(name) -%}
    {{ return('`' ~ (name | string | replace('`', '``')) ~ '`') }}
{%- endmacro -%}
