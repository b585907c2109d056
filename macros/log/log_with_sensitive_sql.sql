{#- The log with its sensitive columns joined back: each log row has at most one row there, written by the same commit. -#}
{%- macro log_with_sensitive_sql(plan, relations) -%}
{%- if not plan['sensitive'] -%}
select * from {{ relations['log'] }}
{%- else -%}
select
    log.*,
    {{ tidemark.column_list_expr(plan['sensitive'] | map(attribute='name'), 'sensitive') }}
from {{ relations['log'] }} as log
left join {{ relations['sensitive'] }} as sensitive
    on
        log._key_hash = sensitive._key_hash
        and log._business_date = sensitive._business_date
        and log._commit_id = sensitive._commit_id
        {%- if plan.get('flow') == 'events' %}
        and log._event_id = sensitive._event_id
        {%- endif %}
{%- endif -%}
{%- endmacro -%}
