{#- Replace all rows of current in one Delta commit; the rows may be read from current itself. -#}
{%- macro delta__overwrite_current(roles, relations, rows, load) -%}
{%- set statement -%}
insert overwrite table {{ relations['current'] }} (
    {{ tidemark.column_list_expr(tidemark.current_names(roles)) }}
)
{{ rows }}
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}
