{#- The events of a batch that are stored: typed, ids in lower case, fingerprint filled in, synthetic
    duplicates renamed. None, where another run has stored some since this one began, or has taken it for
    dead. -#}
{%- macro atomic_rows_sql(cfg, events, decided, load) -%}
select
    {%- for column in tidemark.enriched_columns() %}
    {%- if column['name'] == 'event_id' %}
    coalesce(decided._new_id, lower(events.event_id)) as `event_id`,
    {%- elif column['name'] == 'event_fingerprint' and not cfg['is_rows'] %}
    {{ tidemark.fingerprint_expr(cfg['fingerprint_ignore']) }} as `event_fingerprint`,
    {%- elif column['name'] == 'derived_contexts' %}
    case
        when decided._new_id is null {{ 'or _original_id is not null '
            if cfg['is_rows'] }}then derived_contexts
        else {{ tidemark.with_duplicate_expr('derived_contexts', 'lower(event_id)') }}
    end as `derived_contexts`,
    {%- elif cfg['is_rows'] %}
    cast({{ tidemark.quote_identifier(column['name']) }} as {{ column['type'] }})
        as {{ tidemark.quote_identifier(column['name']) }},
    {%- else %}
    {{ tidemark.enriched_value_expr(column) }} as {{ tidemark.quote_identifier(column['name']) }},
    {%- endif %}
    {%- endfor %}
    {{ load['commit_id'] }} as _commit_id
from {{ events }} as events
left join {{ decided }} as decided on events._row = decided._row
where
    (decided._kind is null or startswith(decided._kind, 'synthetic'))
    and {{ tidemark.still_inflight_expr(load) }}
    and (select count(*) from {{ cfg['target'] }} where _commit_id > {{ load['last_commit_id'] }}) = 0
{%- endmacro -%}
