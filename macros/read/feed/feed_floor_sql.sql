{#- The first commit from which an entity's changes can be asked: 0, or where its log was begun anew, or what
    `clean` left. A clean in flight counts, as it may have removed rows already. -#}
{%- macro feed_floor_sql(states, relation) -%}
select coalesce(max(if(kind = 'clean', source_commit_id, commit_id)), 0)
from {{ tidemark.last_commits_sql(states, relation) }}
where
    (kind = 'clean' and state in ('inflight', 'completed'))
    or (kind = 'full_refresh' and state = 'completed')
{%- endmacro -%}
