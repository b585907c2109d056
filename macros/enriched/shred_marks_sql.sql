{#- One row: how far a table of entities has read, and where the commits of its events begin and end that are
    complete. -#}
{%- macro shred_marks_sql(states, relation, source) -%}
with commits as {{ tidemark.last_commits_sql(states,
    condition='relation in (' ~ tidemark.string_literals([relation, source]) ~ ')') }},

own as (
    select
        max(commit_id) as last_id,
        coalesce(max_by(source_commit_id, commit_id) filter (where kind = 'shred'), 0) as read_to,
        max_by(config, commit_id) filter (where kind = 'shred') as config
    from commits
    where relation = {{ tidemark.string_literal(relation) }}
),

events as (
    select
        coalesce(max(commit_id) filter (where kind = 'full_refresh' and state = 'completed'),
            0) as source_start,
        coalesce(min(commit_id) filter (where kind in ('load', 'full_refresh') and state = 'inflight'),
            9223372036854775807) as first_inflight,
        to_json(collect_list(commit_id) filter (where state = 'rolled_back')) as undone
    from commits
    where relation = {{ tidemark.string_literal(source) }}
)

select
    own.last_id,
    own.read_to,
    own.config,
    events.source_start,
    events.undone,
    coalesce((
        select max(commits.commit_id)
        from commits
        where
            commits.relation = {{ tidemark.string_literal(source) }}
            and commits.state = 'completed'
            and commits.kind in ('load', 'full_refresh')
            and commits.commit_id < (select min(first_inflight) from events)
    ), 0) as source_end
from own
cross join events
{%- endmacro -%}

{#- Whether the table that is there is the one that the last completed run had, so that what that run had read
    is in it: each table has the number of the run that made it. One that was made before tables had it has
    none, and neither have its runs. -#}
{%- macro is_known_shred(read_to, recorded, made_by) -%}
    {{ return(not read_to or recorded.get('made_by') | string == made_by | string) }}
{%- endmacro -%}
