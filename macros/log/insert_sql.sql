{#- Insert a query's rows by name. -#}
{%- macro insert_sql(relation, columns, query) -%}
{%- set names = columns | map(attribute='name') | list -%}
insert into {{ relation }} (
    {{ tidemark.column_list_expr(names) }}
)
select
    {{ tidemark.column_list_expr(names) }}
from (
    {{ query | indent(4) }}
)
{%- endmacro -%}

{#- Drop a table with its files. Iceberg's catalogue keeps them unless it is told to. -#}
{%- macro drop_table_sql(relation) -%}
    {{ return('drop table if exists ' ~ relation
        ~ (' purge' if tidemark.lake_format() == 'iceberg' else '')) }}
{%- endmacro -%}

{#- The statements that rename a table. The folder of an Iceberg table keeps the old name, and so does that of
    a table with a location of its own (`located`), so that it says the new one: those that read it without
    the metastore look for that (tidemark.read). -#}
{%- macro rename_table_sql(relation, new, located=false) -%}
    {%- set statements = ['alter table ' ~ relation ~ ' rename to ' ~ new] -%}
    {%- if located or tidemark.lake_format() == 'iceberg' -%}
        {%- do statements.insert(0, 'alter table ' ~ relation ~ " set tblproperties ('tidemark.table' = "
            ~ tidemark.string_literal(new.identifier) ~ ')') -%}
    {%- endif -%}
    {{ return(statements) }}
{%- endmacro -%}

{#- A row if two queries differ in their rows, copies counted; none if they agree. -#}
{%- macro differs_sql(left, right) -%}
(({{ left }}) except all ({{ right }}))
union all
(({{ right }}) except all ({{ left }}))
limit 1
{%- endmacro -%}
