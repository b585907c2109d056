{#- Rows of a cdc model that went to quarantine and that no later load of their date has mended. -#}
{% test no_open_rejects(model) %}

{%- set counts -%}
    _commit_id in (select commit_id from commits)
    and _commit_id >= (select coalesce(max(commit_id) filter (where kind = 'full_refresh'), 0) from commits)
{%- endset %}
with commits as (
    select
        commit_id,
        kind
    from {{ tidemark.commits_relations(tidemark.run_config())['view'] }}
    where relation = '{{ model.schema }}.{{ model.identifier }}' and state = 'completed'
)

select
    _business_date,
    _reject_reason,
    _key_hash,
    _raw_payload,
    _commit_id
from (
    {{ tidemark.open_rejects_sql(tidemark.rejects(model), counts, tidemark.flow_of(model)['flow'] == 'events') | indent(4) }}
)

{% endtest %}
