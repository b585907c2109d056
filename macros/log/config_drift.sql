{#- What a column is to the comparison of rows. -#}
{%- macro column_role(column) -%}
    {%- if column['key'] -%}{{ return('key') }}{%- endif -%}
    {{ return('ignored' if column['ignored'] else 'compared') }}
{%- endmacro -%}

{#- How a table is laid out by the YAML, to be recorded. It is made so once: another layout is no drift, but nothing follows it. -#}
{%- macro recorded_layout(cfg) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.recorded_layout', cfg)) }}
{%- endmacro -%}
