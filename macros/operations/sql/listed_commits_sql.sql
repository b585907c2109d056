{#- Commits, newest first, as they are shown: of one entity or of all, or one commit alone. `savepoint` names
    the savepoint on a commit ('' if it has no name), `next_log_id` is the commit that put another log in the
    place of the one that it wrote, `previous_version` the version of a derived table before the commit (it
    records only the one after). -#}
{%- macro listed_commits_sql(states, relation=none, commit_id=none, limit=20) -%}
with commits as {{ tidemark.last_commits_sql(states, relation) }},

savepoints as (
    {{ tidemark._standing_savepoints_sql('commits') | indent(4) }}
),

listed as (
    select
        {%- for column in tidemark.commit_columns() if column['name'] != 'config' %}
        {%- if column['type'] == 'timestamp' %}
        date_format(commits.{{ column['name'] }}, 'yyyy-MM-dd HH:mm:ss') as {{ column['name'] }},
        {%- elif column['type'] == 'date' %}
        cast(commits.{{ column['name'] }} as string) as {{ column['name'] }},
        {%- else %}
        commits.{{ column['name'] }},
        {%- endif %}
        {%- endfor %}
        if(savepoints.relation is not null, coalesce(savepoints.name, ''), null) as savepoint,
        timestampdiff(millisecond, commits.started_at, commits.completed_at) / 1000.0 as seconds,
        max(commits.current_version_after) over (
            partition by commits.relation
            order by commits.commit_id asc nulls last
            rows between unbounded preceding and 1 preceding
        ) as previous_version,
        min(if(commits.kind in ({{ tidemark.replacing_kinds() }}) and commits.state = 'completed',
            commits.commit_id, null)) over (
            partition by commits.relation
            order by commits.commit_id asc nulls last
            rows between 1 following and unbounded following
        ) as next_log_id
    from commits
    left join savepoints on commits.relation = savepoints.relation
        and commits.commit_id = savepoints.source_commit_id
)

select to_json(struct(*), map('ignoreNullFields', 'false')) as commit
from listed
{%- if commit_id is not none %}
where commit_id = {{ commit_id }}
{%- endif %}
order by commit_id desc nulls last, relation asc nulls last
limit {{ limit }}
{%- endmacro -%}
