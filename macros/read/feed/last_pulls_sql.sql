{#- How far feeds have read what they read, a row per feed and source: all that is recorded, or what meets a
    condition. A run of a feed records all its sources as of one moment. -#}
{%- macro last_pulls_sql(states, condition=none) -%}
select
    relation,
    source_relation,
    max(commit_id) as commit_id,
    max(source_commit_id) as source_commit_id,
    max_by(details, commit_id) as details,
    unix_micros(max_by(started_at, commit_id)) as run_micros
from {{ states }}
where
    kind = 'feed'
    and state = 'completed'
    {%- if condition %}
    and {{ condition }}
    {%- endif %}
group by relation, source_relation
{%- endmacro -%}

{#- The runs of a feed that a commit stands for: its own one, or the first that read so far of an entity which
    has such a commit. -#}
{%- macro run_of_commit_sql(states, relation, commit_id, owners) -%}
select
    unix_micros(min(started_at) filter (where commit_id = {{ commit_id }})) as own_micros,
    unix_micros(min(started_at) filter (
        where (source_commit_id >= {{ commit_id }}
            and source_relation in ({{ tidemark.string_literals(owners) }}))
        {%- for owner in owners %}
        or from_json(details,
            'read map<string, bigint>').read[{{ tidemark.string_literal(owner) }}] >= {{ commit_id }}
        {%- endfor %}
    )) as brought_micros
from {{ states }}
where
    kind = 'feed'
    and state = 'completed'
    and relation = {{ tidemark.string_literal(relation) }}
{%- endmacro -%}
