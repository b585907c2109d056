{#- Rows of a cdc model that went to quarantine and that no later load of their date has mended. -#}
{% test no_open_rejects(model) %}

with commits as (
    select
        commit_id,
        kind
    from {{ tidemark.commits_relations(tidemark.run_config())['view'] }}
    where relation = '{{ model.schema }}.{{ model.identifier }}' and state = 'completed'
),

rejects as (
    select
        rejects.*,
        {#- what a reload rejects again is there once more -#}
        {{ 'false' if tidemark.flow_of(model)['flow'] == 'events' else 'rejects._commit_id < max(rejects._commit_id) over (partition by rejects._business_date)' }} as _is_replaced
    from {{ tidemark.rejects(model) }} as rejects
    inner join commits on rejects._commit_id = commits.commit_id
    where rejects._commit_id >= (select coalesce(max(commit_id) filter (where kind = 'full_refresh'), 0) from commits)
)

select
    _business_date,
    _reject_reason,
    _key_hash,
    _raw_payload,
    _commit_id
from rejects
where _resolved_by is null and not _is_replaced

{% endtest %}
