{#- A canonical DDL event as {operation, table, columns, ddl}, or none if it is of another table. -#}
{%- macro canonical_statement(row, batch, cfg) -%}
    {{ return(adapter.call_function('tidemark.rules.statements.canonical_statement', row, batch, cfg)) }}
{%- endmacro -%}

{#- A Debezium schema-change message as {operation, table, columns, ddl}, or none if it is of another table. -#}
{%- macro debezium_statement(row, batch) -%}
    {{ return(adapter.call_function('tidemark.rules.statements.debezium_statement', row, batch)) }}
{%- endmacro -%}
