{#- Take these rows away in one commit. Delta's DELETE takes no subquery, a MERGE does. -#}
{%- macro delete_rows_sql(relation, rows, names) -%}
merge into {{ relation }} as stored
using (
    {{ rows | indent(4) }}
) as removed
    on {{ tidemark.same_row_expr(names, 'stored', 'removed', '<=>') | replace('\n', ' ') }}
when matched then delete
{%- endmacro -%}
