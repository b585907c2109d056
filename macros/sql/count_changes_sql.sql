{#-
    The figures of a run: what was classified by operation and reason, and how many rows stood before. Of a full extract
    the keys that came once and unchanged are not among them: they are what is left of those that stood before.
-#}
{%- macro count_changes_sql(classified, existing) -%}
select
    _operation as operation,
    _reject_reason as reason,
    count(*) as row_count,
    sum(_copies) as copies,
    sum(_existing) as existing_count
from {{ classified }}
group by _operation, _reject_reason
union all
select
    'existing' as operation,
    null as reason,
    0 as row_count,
    0 as copies,
    {{ '(select count(*) from ' ~ existing ~ ')' if existing else '0' }} as existing_count
{%- endmacro -%}
