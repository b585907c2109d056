{#- Write a slice of the log in one Delta commit. It writes nothing when another run has written to this log
    since `load.last_commit_id`, or has taken this one for dead and rolled it back: then the count of rows,
    which the caller checks, is not the expected one; and two that write at once conflict, because neither is
    a blind append: each has read the log. -#}
{%- macro delta__append_to_log(relations, names, rows, load) -%}
{%- if load['forward'] -%}
{%- set statement -%}
insert into {{ relations['log'] }} (
    {{ tidemark.column_list_expr(names) }},
    _commit_id
)
select
    {{ tidemark.column_list_expr(names) }},
    {{ load['commit_id'] }}
from {{ rows }}
where
    {{ tidemark.still_inflight_expr(load) }}
    and (select count(*) from {{ relations['log'] }} where _commit_id > {{ load['last_commit_id'] }}) = 0
{%- endset -%}
{%- else -%}
{%- set statement = tidemark.merge_into_log_sql(relations, names, rows, load) -%}
{%- endif -%}
{{ return([statement]) }}
{%- endmacro -%}

{#- Append the rows of a slice and mark those that it supersedes. `conflicts` are conditions on rows of other
    runs: see iceberg__append_to_log(). -#}
{%- macro merge_into_log_sql(relations, names, rows, load, conflicts=[]) -%}
{%- set by_date = ["log._business_date >= date'" ~ load['business_date'] ~ "'"]
    if '_event_id' not in names and not load['forward'] else [] -%}
merge into {{ relations['log'] }} as log
using (
    {%- if load['forward'] %}
    select
        {{ tidemark.column_list_expr(names, 'rows') | indent(8) }},
        cast(null as bigint) as _supersedes
    {%- else %}
    select rows.*
    {%- endif %}
    from {{ rows }} as rows
    inner join (
        select count(*) as commits
        from {{ relations['log'] }}
        where _commit_id > {{ load['last_commit_id'] }} or _superseded_by > {{ load['last_commit_id'] }}
    ) as later on later.commits = 0
    where {{ tidemark.still_inflight_expr(load) }}
) as slice
    on
        log._key_hash <=> slice._key_hash
        and log._business_date <=> slice._business_date
        and log._commit_id <=> slice._supersedes
        {%- if '_event_id' in names %}
        and log._event_id <=> slice._event_id
        and log._source_operation <=> slice._source_operation
        {%- endif %}
        {%- if conflicts and (by_date or load['forward']) %}
        and ({{ (by_date + conflicts) | join(' or ') }})
        {%- elif by_date %}
        and {{ by_date[0] }}
        {%- endif %}
when matched then update set
    _superseded_by = {{ load['commit_id'] }}
when not matched and slice._supersedes is null then insert (
    {{ tidemark.column_list_expr(names) }},
    _commit_id
) values (
    {{ tidemark.column_list_expr(names, 'slice') }},
    {{ load['commit_id'] }}
)
{%- endmacro -%}

{#- Stop statements on the log that began before now, as this is a change of its metadata: they fail when they
    commit. -#}
{%- macro delta__fence_log(log_table, commit_id) -%}
    {{ return(["alter table " ~ log_table ~ " set tblproperties ('tidemark.fence' = '" ~ commit_id ~ "')"]) }}
{%- endmacro -%}

{#- The same of events, which are the log of their family, and of what lies beside them. -#}
{%- macro delta__fence_events(relation, commit_id, are_claims) -%}
    {{ return(tidemark.delta__fence_log(relation, commit_id)) }}
{%- endmacro -%}

{#- Append the events of a batch, or what lies beside them: see iceberg__append_events(). -#}
{%- macro delta__append_events(relation, columns, query, by='event_id', last=none) -%}
    {{ return([tidemark.insert_sql(relation, columns, query)]) }}
{%- endmacro -%}
