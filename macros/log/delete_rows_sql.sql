{#- Take these rows away in one commit. Delta's DELETE takes no subquery, a MERGE does. -#}
{%- macro delete_rows_sql(relation, rows, names) -%}
{%- set terms = [] -%}
{%- for name in names -%}{%- do terms.append('stored.' ~ name ~ ' <=> removed.' ~ name) -%}{%- endfor -%}
merge into {{ relation }} as stored
using (
    {{ rows | indent(4) }}
) as removed
    on {{ terms | join(' and ') }}
when matched then delete
{%- endmacro -%}
