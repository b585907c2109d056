{#- A table with the columns and types that a load would give it before it writes, see changes_to_come(): new
    columns are NULL. -#}
{%- macro table_to_come_sql(relation, changes) -%}
{%- set others = changes['widened'] + changes['left'] -%}
select
    *
    {%- if others %} except ({{ tidemark.column_list_expr(others | map(attribute='name')) | replace('\n    ',
        ' ') }}){% endif %}
    {%- for column in changes['widened'] %},
    {{ tidemark.widened_value_expr(column) }} as {{ tidemark.quote_identifier(column['name']) }}
    {%- endfor %}
    {%- for column in changes['added'] %},
    cast(null as {{ tidemark.quoted_type(column['type']) }})
        as {{ tidemark.quote_identifier(column['name']) }}
    {%- endfor %}
from {{ relation }}
{%- endmacro -%}

{#- A value of a column as that of its wider type. A field that is new is NULL, not of its name in another
    column. -#}
{%- macro widened_value_expr(column) -%}
    {%- set value = tidemark.quote_identifier(column['name']) -%}
    {{ return(
        tidemark.cast_by_name_expr(value, column['from'], column['type'])['value']
            if tidemark._nested_kind(column['type'])
        else 'cast(' ~ value ~ ' as ' ~ column['type'] ~ ')'
    ) }}
{%- endmacro -%}

{#- A table that is still to be made. -#}
{%- macro no_rows_sql(columns) -%}
{%- set terms = [] -%}
{%- for column in columns -%}
    {%- do terms.append('cast(null as ' ~ tidemark.quoted_type(column['type']) ~ ') as '
        ~ tidemark.quote_identifier(column['name'])) -%}
{%- endfor -%}
select
    {{ terms | join(',\n    ') }}
where false
{%- endmacro -%}
