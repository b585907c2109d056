{#- The commits of an entity that savepoints keep from clean(): `commit_id` and `name`, the last word on each
    commit counts. -#}
{%- macro savepoints_sql(states, relation) -%}
with commits as {{ tidemark.last_commits_sql(states, relation) }}

select
    source_commit_id as commit_id,
    name
from (
    {{ tidemark._standing_savepoints_sql('commits') | indent(4) }}
)
{%- endmacro -%}

{#- The savepoints of an entity, or of all, for a person: which commit each keeps, what that loaded, and since
    when. -#}
{%- macro listed_savepoints_sql(states, relation=none) -%}
with commits as {{ tidemark.last_commits_sql(states, relation) }}

select
    kept.entity,
    kept.commit_id,
    savepoints.name,
    kept.kind,
    cast(kept.business_date as string) as business_date,
    date_format(kept.completed_at, 'yyyy-MM-dd HH:mm:ss') as completed_at,
    date_format(savepoints.made_at, 'yyyy-MM-dd HH:mm:ss') as made_at
from (
    {{ tidemark._standing_savepoints_sql('commits') | indent(4) }}
) as savepoints
inner join commits as kept on savepoints.relation = kept.relation
    and savepoints.source_commit_id = kept.commit_id
order by kept.entity asc nulls last, kept.commit_id desc nulls last
{%- endmacro -%}

{#- What the last savepoint commit on each commit says, unless it takes the savepoint away. -#}
{%- macro _standing_savepoints_sql(commits) -%}
select
    relation,
    source_commit_id,
    max_by(get_json_object(details, '$.name'), commit_id) as name,
    max(completed_at) as made_at
from {{ commits }}
where kind = 'savepoint' and state = 'completed'
group by relation, source_commit_id
having not max_by(coalesce(get_json_object(details, '$.removed'), 'false') = 'true', commit_id)
{%- endmacro -%}

{#- The last completed commits that wrote an entity's log, each with its date, or one of them: what a
    savepoint or an error can name. -#}
{%- macro log_commits_sql(states, relation, commit_id=none, limit=5) -%}
select
    commit_id,
    kind,
    business_date,
    completed_at
from {{ tidemark.last_commits_sql(states, relation) }}
where
    state = 'completed'
    and kind in ({{ tidemark.log_kinds() }})
    {%- if commit_id is not none %}
    and commit_id = {{ commit_id }}
    {%- endif %}
order by commit_id desc nulls last
limit {{ limit }}
{%- endmacro -%}
