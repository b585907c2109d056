{#- Replace all rows of current in one Delta commit; the rows may be read from current itself. -#}
{%- macro delta__overwrite_current(plan, relations, rows, load) -%}
{%- set statement -%}
insert overwrite table {{ relations['current'] }} (
    {{ tidemark.column_list_expr(plan['stored'] | map(attribute='name') | list + ['_key_hash', '_row_hash', '_operation', '_eff_start_date']) }}
)
{{ rows }}
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}
