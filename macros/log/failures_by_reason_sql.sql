{#- Failures of columns in rows of which `whole` does not hold, by reason: the first of each column counts.
    -#}
{%- macro failures_by_reason_sql(rows, whole, reasons) -%}
select
    failure.reason,
    count(*) as count,
    min(failure.value) as value
from (
    select explode(array(
        cast(null as struct<reason: string, value: string>)
        {%- for column in reasons | map(attribute='column') | unique(case_sensitive=true) %},
        case
            {%- for reason in reasons if reason['column'] == column %}
            when {{ reason['condition'] }}
                then named_struct('reason', {{ reason['text'] }}, 'value', {{ reason['value'] }})
            {%- endfor %}
        end
        {%- endfor %}
    )) as failure
    from {{ rows }}
    {%- if whole %}
    where not coalesce({{ whole | join(' or ') }}, false)
    {%- endif %}
)
where failure is not null
group by failure.reason
{%- endmacro -%}
