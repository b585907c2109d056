{#- The rejects that no later load of their date has mended, of loads that count (a condition on their
    commits). What a reload rejects again is there once more, and open once. Change events come once each. -#}
{%- macro open_rejects_sql(rejects, counts, is_events=false) -%}
{%- if is_events -%}
select *
from {{ rejects }}
where {{ counts }} and _resolved_by is null
{%- else -%}
select * except (_tidemark_last)
from (
    select
        *,
        max(_commit_id) over (partition by _business_date) as _tidemark_last
    from {{ rejects }}
    where {{ counts }}
)
where _resolved_by is null and _commit_id = _tidemark_last
{%- endif -%}
{%- endmacro -%}
