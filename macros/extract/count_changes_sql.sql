{#- The figures of a run: what was classified by operation and reason, and how many rows stood before. Of a
    full extract the keys that came once and unchanged are not among them: they are what is left of those that
    stood before. For a scoped one, `in_scope` counts those in the scopes that came. -#}
{%- macro count_changes_sql(cfg, classified, existing) -%}
{%- set in_scope = cfg['extract'] == 'scoped' and existing -%}
select
    _operation as operation,
    _reject_reason as reason,
    count(*) as row_count,
    sum(_tidemark_copies) as copies,
    sum(_tidemark_existing) as existing_count
    {%- if in_scope %},
    sum(_tidemark_in_scope) as in_scope
    {%- endif %}
from {{ classified }}
group by _operation, _reject_reason
union all
select
    'existing' as operation,
    null as reason,
    0 as row_count,
    0 as copies,
    {{ '(select count(*) from ' ~ existing ~ ')' if existing else '0' }} as existing_count
    {{- ',\n    0 as in_scope' if in_scope }}
{%- endmacro -%}

{#- The figures of a run as aggregates over all of classified_rows_sql(), every N among them. -#}
{%- macro figures_of_changes() -%}
    {%- set figures = tidemark.figures_of_operations() -%}
    {%- do figures.update({
        'rows_read': "sum(if(_operation = 'R', 1, _tidemark_copies))",
        'rows_rejected': "count_if(_operation = 'R')",
        'rows_duplicate': "sum(if(_operation in ('R', 'D'), 0, _tidemark_copies - 1))",
        'existing': 'sum(_tidemark_existing)',
    }) -%}
    {{ return(figures) }}
{%- endmacro -%}
