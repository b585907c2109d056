{#- The commits of an entity that took effect on its log, in order, for finding out which of them hold: those
    of a log that a full refresh replaced are none of them. -#}
{%- macro timeline_sql(states, relation, before) -%}
select
    commit_id,
    kind,
    cast(business_date as string) as business_date,
    source_commit_id,
    invocation_id,
    is_correction,
    get_json_object(config, '$.extract') as extract,
    rows_inserted,
    rows_updated,
    rows_deleted
from (
    {{ tidemark.entity_commits_sql(states, relation) }}
)
where
    commit_id >= log_start_id
    and kind in ({{ tidemark.log_kinds() }}, 'repeat')
    and (state = 'completed' or undone_by is not null)
    {%- if before %}
    and commit_id < {{ before }}
    {%- endif %}
order by commit_id asc nulls last
{%- endmacro -%}

{#- The new state of commits that a rollback undid, or that hold again. -#}
{%- macro undone_states_sql(states, commit, undone, redone) -%}
{%- set ids = undone + redone -%}
{%- set changed = {
    'state': "if(commit_id in (" ~ (undone or [0]) | join(', ') ~ "), 'rolled_back', 'completed')",
    'undone_by': 'if(commit_id in (' ~ (undone or [0]) | join(', ') ~ '), ' ~ commit['commit_id'] ~ ', null)',
    'state_at': 'greatest(current_timestamp(), state_at + interval 1 microsecond)',
} -%}
{%- set names, expressions = tidemark.commit_columns() | map(attribute='name') | list, [] -%}
{%- for name in names -%}{%- do expressions.append(changed[name] ~ ' as ' ~ name if name in changed
    else name) -%}{%- endfor -%}
select
    {{ expressions | join(',\n    ') }}
from {{ tidemark.last_commits_sql(states, commit['relation']) }}
where commit_id in ({{ (ids or [0]) | join(', ') }})
{%- endmacro -%}
