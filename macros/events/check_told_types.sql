{#- Refuse what a DDL event calls a type and Spark does not: SQL is made with it. -#}
{%- macro check_told_types(entity, columns) -%}
    {%- do adapter.call_function('tidemark.rules.statements.check_told_types', entity, columns) -%}
{%- endmacro -%}
