{#- What cannot change on an entity that has a log, compared with what its last commit recorded: a list of sentences, each saying what
    changed and what to do. Nothing is written when the list is not empty. -#}
{%- macro config_drift(cfg, plan, recorded, origin='') -%}
    {{ return(adapter.call_function('tidemark.rules.drift.config_drift', cfg, plan, recorded, origin)) }}
{%- endmacro -%}

{#- What the choice of columns cannot take or leave on a table without key: its rows are found by all values that are stored. -#}
{%- macro choice_drift(plan, recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.choice_drift', plan, recorded)) }}
{%- endmacro -%}

{#- What a column is to the comparison of rows. -#}
{%- macro column_role(column) -%}
    {%- if column['key'] -%}{{ return('key') }}{%- endif -%}
    {{ return('ignored' if column['ignored'] else 'compared') }}
{%- endmacro -%}

{#- How a table is laid out by the YAML, to be recorded. It is made so once: another layout is no drift, but nothing follows it. -#}
{%- macro recorded_layout(cfg) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.recorded_layout', cfg)) }}
{%- endmacro -%}
