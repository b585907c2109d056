{#-
    Of every batch of a `materialized: atomic` model, each line is in exactly one of atomic events, duplicates and rejects,
    and as many events and rejects are stored as were counted.
-#}
{% test every_line_is_accounted_for(model) %}
{%- set name = model.schema ~ '.' ~ model.identifier -%}
with commits as (
    select *
    from {{ tidemark.commits_relations(tidemark.run_config())['view'] }}
    where relation = '{{ name }}' and state = 'completed'
),

batches as (
    select *
    from commits
    where
        kind in ('load', 'full_refresh')
        -- of what was before a full refresh the tables have other names
        and commit_id >= (select coalesce(max(commit_id) filter (where kind = 'full_refresh'), 0) from commits)
),

stored as (
    select
        _commit_id,
        count(*) as _stored
    from {{ model }}
    group by _commit_id
),

rejected as (
    select
        _commit_id,
        count(*) as _rejected
    from {{ tidemark.side_relation(model, 'rejects') }}
    group by _commit_id
)

select
    batches.commit_id,
    batches.rows_read,
    stored._stored,
    rejected._rejected
from batches
left join stored on batches.commit_id = stored._commit_id
left join rejected on batches.commit_id = rejected._commit_id
where
    batches.rows_read <> batches.rows_inserted + batches.rows_duplicate + batches.rows_rejected
    or batches.rows_inserted <> coalesce(stored._stored, 0)
    or (
        batches.rows_rejected <> coalesce(rejected._rejected, 0)
        and not exists (select 1 from commits where kind = 'clean')
    )
    or batches.rows_duplicate <> batches.rows_natural_in_batch + batches.rows_natural_cross_batch
{% endtest %}
