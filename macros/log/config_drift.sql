{#- Keys in the order of the hashes that are stored, where the YAML has the same ones in another. Not those that the model hashes
    itself: its order is not known. -#}
{%- macro keys_in_order(cfg, recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.keys_in_order', cfg, recorded)) }}
{%- endmacro -%}

{%- macro _shown(value) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.shown', value)) }}
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
