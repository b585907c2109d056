{#- What clean() decides by, as one row: for each length of `retentions` (such as {superseded: '30 days'}) the
    horizon, the last commit that was completed that long ago; what was cleaned before; what must stay
    readable; the logs that a full refresh or a rehash replaced. -#}
{%- macro clean_horizons_sql(states, relation, retentions) -%}
{%- set literal = tidemark.string_literal(relation) -%}
with last_states as {{ tidemark.last_commits_sql(states,
    condition='relation = ' ~ literal ~ ' or source_relation = ' ~ literal) }},

commits as (
    select * from last_states
    where relation = {{ literal }}
),

log_commits as (
    -- a commit is no older than those before it, whatever the clock was
    select
        *,
        max(completed_at) over (
            order by commit_id asc nulls last
            rows between unbounded preceding and current row
        ) as completed_by
    from commits
    where kind in ({{ tidemark.log_kinds() }}) and state = 'completed'
),

savepoints as (
    {{ tidemark.savepoints_sql(states, relation) | indent(4) }}
),

consumers as (
    select
        relation,
        max_by(source_commit_id, commit_id) as commit_id
    from last_states
    where source_relation = {{ literal }} and kind in ('scd2', 'feed') and state = 'completed'
    group by relation
)

select
    {%- for name, length in retentions.items() %}
    (
        select coalesce(max(commit_id), 0) from log_commits
        where completed_by <= current_timestamp() - interval {{ length }}
    ) as {{ name }}_horizon,
    {%- endfor %}
    (select coalesce(max(commit_id), 0) from log_commits where kind = 'full_refresh') as log_start,
    (
        select coalesce(max(source_commit_id), 0) from commits
        where kind = 'clean' and state in ('inflight', 'completed')
    ) as floor,
    (select to_json(sort_array(collect_list(struct(commit_id, name)))) from savepoints) as savepoints,
    (select to_json(sort_array(collect_list(struct(commit_id, relation)))) from consumers) as consumers,
    (
        select to_json(sort_array(collect_list(struct(
            commit_id,
            kind,
            {{ "completed_by <= current_timestamp() - interval " ~ retentions['superseded']
                if retentions.get('superseded') else 'false' }} as is_old
        ))))
        from log_commits
        where kind in ({{ tidemark.replacing_kinds() }})
    ) as replaced_logs
{%- endmacro -%}
