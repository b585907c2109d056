{#- What going back to a commit does to the log: a mark on each row that came since and is in force
    (`_supersedes`), and again each row that was in force then and is not now (`_copy_of`, the commit that
    wrote it first). -#}
{%- macro rollback_slice_sql(roles, relations, target) -%}
{%- set names = tidemark.slice_columns(roles) -%}
select
    {{ tidemark.column_list_expr(names) }},
    if(_superseded_by is null, _commit_id, null) as _supersedes,
    if(_superseded_by is null, null, _commit_id) as _copy_of
from {{ relations['log'] }}
where
    (_commit_id > {{ target }} and _superseded_by is null)
    or (_commit_id <= {{ target }} and _superseded_by > {{ target }})
{%- endmacro -%}

{#- How many rows a rollback marks and copies, and the first date among them. -#}
{%- macro rollback_figures_sql(slice_sql) -%}
select
    count_if(_supersedes is not null) as mark_count,
    count_if(_copy_of is not null) as copy_count,
    cast(min(_business_date) as string) as first_date
from (
    {{ slice_sql | indent(4) }}
)
{%- endmacro -%}

{#- The sensitive values of the rows that a rollback appends anew. -#}
{%- macro restored_sensitive_sql(roles, relations, slice, commit_id) -%}
select
    sensitive.* except (_commit_id),
    {{ commit_id }} as _commit_id
from {{ relations['sensitive'] }} as sensitive
inner join {{ slice }} as slice
    on
        sensitive._key_hash <=> slice._key_hash
        and sensitive._business_date <=> slice._business_date
        and sensitive._commit_id <=> slice._copy_of
        {%- if roles['flow'] == 'events' %}
        and sensitive._event_id <=> slice._event_id
        {%- endif %}
{%- endmacro -%}

{#- The relations in whose logs these dbt runs have left a commit in flight. -#}
{%- macro _inflight_of_runs_sql(states, runs) -%}
{%- set ids = [] -%}
{%- for run in runs -%}{%- do ids.append(tidemark.string_literal(run)) -%}{%- endfor -%}
select distinct relation
from {{ tidemark.last_commits_sql(states) }}
where
    state = 'inflight'
    and kind in ({{ tidemark.log_kinds() }})
    and invocation_id in ({{ ids | join(', ') }})
{%- endmacro -%}
