{#- What has changed where the setting `table` names none of the tables that a log was made of: files are read once, so that another one
    would have none of the events that have landed. DDL events give a table further names. -#}
{%- macro table_drift(cfg, taken) -%}
    {{ return(adapter.call_function('tidemark.rules.table_names.table_drift', cfg, taken)) }}
{%- endmacro -%}

{#- Refuses events of more tables than the setting and DDL events name; without either, than the one that the first events are of. -#}
{%- macro check_one_table(cfg, batch, figures, loaded) -%}
    {%- do adapter.call_function('tidemark.rules.table_names.check_one_table', cfg, batch, figures, loaded) -%}
{%- endmacro -%}
