{#- The commits of an operation that are in flight: a call of it that died left them. -#}
{%- macro inflight_operations_sql(states, relation, kind) -%}
    {{ return(tidemark._operations_in_state_sql(states, relation, kind, 'inflight')) }}
{%- endmacro -%}

{%- macro _operations_in_state_sql(states, relation, kind, state) -%}
select
    commit_id,
    unix_micros(started_at) as started_micros,
    unix_micros(state_at) as state_micros,
    source_commit_id,
    details
from {{ tidemark.last_commits_sql(states, relation) }}
where kind = {{ tidemark.string_literal(kind) }} and state = {{ tidemark.string_literal(state) }}
order by commit_id asc nulls last
{%- endmacro -%}
