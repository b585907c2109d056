{#- The log with its sensitive columns joined back: each log row has at most one row there, written by the
    same commit. -#}
{%- macro log_with_sensitive_sql(roles, relations) -%}
{%- if not roles['sensitive'] -%}
select * from {{ relations['log'] }}
{%- else -%}
select
    log.*,
    {{ tidemark.column_list_expr(roles['sensitive'] | map(attribute='name'), 'sensitive') }}
from {{ relations['log'] }} as log
left join {{ relations['sensitive'] }} as sensitive
    on
        {{ tidemark.same_row_expr(tidemark.sensitive_key(roles), 'log', 'sensitive') | indent(8) }}
{%- endif -%}
{%- endmacro -%}

{#- What a row of the log and that of its sensitive values have in common; `flow` is `roles` or what flow_of()
    tells. -#}
{%- macro sensitive_key(flow) -%}
    {{ return(['_key_hash', '_business_date', '_commit_id']
        + (['_event_id'] if flow.get('flow') == 'events' else [])) }}
{%- endmacro -%}

{#- Whether two rows agree in these columns, one condition a line. -#}
{%- macro same_row_expr(names, left, right, by='=') -%}
    {%- set terms = [] -%}
    {%- for name in names -%}
        {%- do terms.append(left ~ '.' ~ name ~ ' ' ~ by ~ ' ' ~ right ~ '.' ~ name) -%}
    {%- endfor -%}
    {{ return(terms | join('\nand ')) }}
{%- endmacro -%}
