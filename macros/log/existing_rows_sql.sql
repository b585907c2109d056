{#- The stored rows that an extract is compared with: the current table, less what soft_delete keeps, or kept
    so far, of deleted keys. -#}
{%- macro existing_rows_sql(roles, relations) -%}
{%- set sensitive, of = roles['sensitive'], 'current.' if roles['sensitive'] else '' -%}
{%- set by_change = tidemark.is_sensitive_by_change(sensitive) -%}
select
    {{ tidemark.column_list_expr(roles['stored'] | map(attribute='name'),
        'current' if sensitive else none) }},
    {%- if sensitive %}
    {{ tidemark.column_list_expr(sensitive | map(attribute='name'), 'sensitive') }},
    {%- endif %}
    {{ of }}_key_hash,
    {{ of }}_row_hash
    {%- for column in tidemark.event_log_columns(roles)
        if column['name'] in ['_sequence_num', '_sequence_by'] %},
    {{ of }}{{ column['name'] }}
    {%- endfor %}
from {{ relations['current'] ~ (' as current' if sensitive else '') }}
{%- if sensitive %}
left join (
    {{ tidemark.sensitive_of_current_sql(roles, relations['log'], relations['sensitive'],
        by_change) | indent(4) }}
) as sensitive
    on current._key_hash = sensitive._key_hash and current._row_hash = sensitive._row_hash
        and sensitive._tidemark_rank = 1
    {%- if by_change %}
    and current._eff_start_date = sensitive._business_date
    {%- endif %}
{%- endif %}
where {{ of }}_operation <> 'D'
{%- endmacro -%}
