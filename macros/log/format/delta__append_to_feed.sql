{#- Append rows to a feed, of which they have read that it has none of them: so of two runs that append at
    once one is refused. -#}
{%- macro delta__append_to_feed(relation, names, rows, after) -%}
{%- set statement -%}
insert into {{ relation }} (
    {{ tidemark.column_list_expr(names) }}
)
{{ rows }}
{%- endset -%}
    {{ return([statement]) }}
{%- endmacro -%}
