{#- The batches after a commit that were stored and not taken back. -#}
{%- macro batches_after_sql(states, relation, commit_id) -%}
select
    commit_id,
    kind,
    rows_inserted
from {{ tidemark.last_commits_sql(states, relation) }}
where
    kind in ('load', 'full_refresh')
    and state = 'completed'
    and commit_id > {{ commit_id }}
order by commit_id desc nulls last
{%- endmacro -%}

{#- The batches that there were at a commit and that a later one took back. -#}
{%- macro batches_gone_sql(states, relation, commit_id) -%}
select
    commit_id,
    undone_by
from {{ tidemark.last_commits_sql(states, relation) }}
where
    kind in ('load', 'full_refresh')
    and commit_id <= {{ commit_id }}
    and undone_by > {{ commit_id }}
order by commit_id desc nulls last
{%- endmacro -%}
