{#- Insert a query's rows by name. A Parquet side relation is partitioned by commit, see parquet__create_table(). -#}
{%- macro insert_sql(relation, columns, query, file_format='delta') -%}
{%- set names = columns | map(attribute='name') | list -%}
insert into {{ relation }} (
    {{ tidemark.column_list_expr(names + (['tidemark_commit'] if file_format == 'parquet' else [])) }}
)
select
    {{ tidemark.column_list_expr(names) }}{{ ',\n    _commit_id as tidemark_commit' if file_format == 'parquet' }}
from (
    {{ query | indent(4) }}
)
{%- endmacro -%}


{#- A row if two queries differ in their rows, copies counted; none if they agree. -#}
{%- macro differs_sql(left, right) -%}
(({{ left }}) except all ({{ right }}))
union all
(({{ right }}) except all ({{ left }}))
limit 1
{%- endmacro -%}
