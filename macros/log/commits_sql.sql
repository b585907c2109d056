{%- macro commit_columns() -%}
    {%- set columns -%}
commit_id bigint Rises with the commits of an entity; the UTC moment it began as yyMMddHHmmssSSS
relation string schema.name of the entity
entity string Name of the entity
kind string load, repeat (a date loaded again with nothing new), full_refresh, rehash, promote, rollback, erase_key; of derived tables scd2, feed, shred; savepoint, clean, compact, clone, populate_manifest
business_date date The business date loaded
state string inflight, completed, rolled_back
started_at timestamp When the run of this entity began
completed_at timestamp When it was completed or rolled back
rows_read bigint Rows of the extract = applied keys + rejected + exact duplicates
rows_inserted bigint Keys that are new; enriched events and entities that were stored
rows_updated bigint Keys whose compared columns changed
rows_deleted bigint Keys gone from a full extract
rows_unchanged bigint Keys that came unchanged
rows_not_supplied bigint Keys that a delta did not supply, or that are out of the scope of a full extract
rows_rejected bigint Rows of the extract that were rejected
rows_duplicate bigint Exact duplicates left out; of enriched events natural duplicates
rows_natural_in_batch bigint Enriched events left out as copies of one in the same batch
rows_natural_cross_batch bigint Enriched events left out as copies of one in another batch
rows_synthetic_in_batch bigint Enriched events that got a new id, as another one of the batch had theirs
rows_synthetic_cross_batch bigint Enriched events that got a new id, as one of another batch had theirs
etl_tstamp timestamp Etl time of a batch of enriched events, the greatest of its events
rows_ignored bigint Messages that are no change of the table: of other tables, markers, tombstones, heartbeats, DDL
rows_tied bigint Ties of change events: another content at a key and sequence that an event had already
rows_logged bigint Rows appended to the log
rows_superseded bigint Log rows that this commit superseded
batch_id bigint Batch of events: the first commit that took a part of it
first_sequence_num bigint Least sequence number of the events applied
last_sequence_num bigint Greatest sequence number applied so far: the high-water mark
last_file string Last file of the batch, in name order
log_version_before bigint Version of the log table before, where the format has versions
log_version_after bigint Version of the log table after
current_version_before bigint Version of the current table before
current_version_after bigint Version of the current table after
source_relation string schema.name of what a derived table reads (scd2, feed), of a clone what it was made of, of a promote the clone
source_commit_id bigint The commit meant: how far a derived table (scd2, feed) or a clone has read, where a rollback went to, the last one of the log that is replaced, what a savepoint keeps, from where on clean left the changes
is_correction boolean Whether more was done to the log than to append what comes after everything in it
undone_by bigint The rollback that undid the commit, which then is rolled_back
config_fingerprint string md5 of config
config string What later runs are held to, as JSON
invocation_id string dbt invocation
details string What an operation did, as JSON
rules string How many rows failed each rule of the YAML, by its name, as JSON
state_at timestamp When this state was recorded
    {%- endset -%}
    {{ return(tidemark.described_columns(columns)) }}
{%- endmacro -%}

{#- Kinds of commits that write the log: one of these in flight is finished or rolled back by the entity's
    next run. -#}
{%- macro log_kinds() -%}
    {{ return("'load', 'full_refresh', 'rehash', 'promote', 'rollback'") }}
{%- endmacro -%}

{#- Kinds of commits with which a new log takes the place of the old one. -#}
{%- macro replacing_kinds() -%}
    {{ return("'full_refresh', 'rehash', 'promote'") }}
{%- endmacro -%}

{#- One row per commit, its last state, over the append-only table of states. -#}
{%- macro commits_view_sql(view, states) -%}
create or replace view {{ view }} as
select
    {{ tidemark.column_list_expr(tidemark.commit_columns() | map(attribute='name')) }}
from {{ tidemark.last_commits_sql(states) }}
{%- endmacro -%}

{#- The commits of a relation, or those that a condition on their states chooses, or all, each in its last
    state; in brackets. -#}
{%- macro last_commits_sql(states, relation=none, condition=none) -%}
{%- set chosen = 'relation = ' ~ tidemark.string_literal(relation) if relation else condition -%}
(
    select *
    from (
        select
            *,
            row_number() over (
                partition by relation, commit_id
                order by state_at desc nulls last, state = 'inflight' asc nulls last
            ) as _tidemark_rank
        from {{ states }}
        {%- if chosen %}
        where {{ chosen }}
        {%- endif %}
    )
    where _tidemark_rank = 1
)
{%- endmacro -%}

{#- How a commit stands: its last state and what was said of it. -#}
{%- macro last_state_sql(states, relation, commit_id) -%}
select
    state,
    details,
    rows_logged
from {{ tidemark.last_commits_sql(states, relation) }}
where commit_id = {{ commit_id }}
{%- endmacro -%}

{#- Whether an erase of a key is in flight, or began after a commit. -#}
{%- macro concurrent_erase_sql(states, relation, commit_id) -%}
select count(*) > 0 as is_beside
from {{ tidemark.last_commits_sql(states, relation) }}
where kind = 'erase_key' and (state = 'inflight' or commit_id > {{ commit_id }})
{%- endmacro -%}

{#- The commits of an entity in their last state, each with `log_start_id`, the full refresh that made the log
    that is there. -#}
{%- macro entity_commits_sql(states, relation) -%}
    select
        *,
        max(if(kind = 'full_refresh' and state = 'completed', commit_id, 0)) over () as log_start_id
    from {{ tidemark.last_commits_sql(states, relation) | indent(4) }}
{%- endmacro -%}

{#- What an entity was held to after a commit, wherever rollbacks went since. -#}
{%- macro config_at_sql(states, relation, commit_id) -%}
select max_by(config, commit_id) as config
from (
    {{ tidemark.entity_commits_sql(states, relation) }}
)
where
    commit_id <= {{ commit_id }}
    and config is not null
    and (state = 'completed' or undone_by is not null)
{%- endmacro -%}

{#- What the loads in force of a date, and of those before it, were made with. -#}
{%- macro configs_until_sql(states, relation, business_date) -%}
with commits as (
    {{ tidemark.entity_commits_sql(states, relation) }}
)

select distinct config
from commits
where
    state = 'completed'
    and kind in ('load', 'full_refresh')
    and commit_id >= log_start_id
    and business_date <= {{ "date'" ~ business_date ~ "'" if business_date else 'cast(null as date)' }}
{%- endmacro -%}

{#- The newest states of an entity's commits, the last state of each commit first. -#}
{%- macro entity_states_sql(states, relation, most) -%}
select
    {{ tidemark.known_commit_columns() | join(',\n    ') }}
from {{ states }}
where relation = {{ tidemark.string_literal(relation) }}
order by commit_id desc, state_at desc nulls last, state = 'inflight' asc nulls last
limit {{ most }}
{%- endmacro -%}

{#- The same of all entities, or one row more than `most`. -#}
{%- macro all_states_sql(states, most) -%}
select
    relation as key,
    {{ tidemark.known_commit_columns() | join(',\n    ') }}
from {{ states }}
order by commit_id desc, state_at desc nulls last, state = 'inflight' asc nulls last
limit {{ most + 1 }}
{%- endmacro -%}

{#- The columns of a commit that judged_state() and derived_marks() look at. -#}
{%- macro known_commit_columns() -%}
    {{ return(['commit_id', 'kind', 'state', 'business_date', 'last_sequence_num', 'source_commit_id',
        'source_relation', 'rows_read', 'undone_by', 'config']) }}
{%- endmacro -%}

{#- All that a run needs to know of an entity's commits, as one row from one pass over them: the last ids, the
    configuration they were made with, what is in flight, and the loaded dates around `business_date`. Of
    `later_loads` the last of a date counts. -#}
{%- macro entity_state_sql(states, relation, business_date) -%}
{%- set this_date = "date'" ~ business_date ~ "'" if business_date else 'cast(null as date)' -%}
{%- set is_load = "state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id" -%}
{%- set dated_load = "named_struct('business_date', business_date, 'commit_id', commit_id, 'extract', "
    ~ "get_json_object(config, '$.extract'))" -%}
with commits as (
    {{ tidemark.entity_commits_sql(states, relation) }}
)

select
    max(commit_id) as last_id,
    coalesce(max(commit_id) filter (where state = 'completed' and kind in ({{ tidemark.log_kinds() }})),
        0) as last_commit_id,
    max(last_sequence_num)
        filter (where state = 'completed' and commit_id >= log_start_id) as last_sequence_num,
    max_by(config, commit_id) filter (where state = 'completed' and config is not null) as config,
    to_json(collect_list(struct(commit_id, kind, business_date, config)) filter (
        where state = 'inflight' and kind in ({{ tidemark.log_kinds() }})
    )) as inflight,
    to_json(collect_list(commit_id) filter (where state = 'rolled_back')) as undone,
    coalesce(max(commit_id)
        filter (where kind = 'full_refresh' and state = 'rolled_back' and undone_by is null), 0)
    > coalesce(max(commit_id) filter (where kind in ('load', 'full_refresh') and state = 'completed'),
        0) as left_refresh,
    count(*) filter (where state = 'completed' and kind = 'erase_key') > 0 as has_erased,
    max(commit_id) filter (where {{ is_load }} and business_date = {{ this_date }}) as this_commit_id,
    max(if({{ is_load }} and business_date = {{ this_date }}, {{ dated_load }},
        null)).extract as this_extract,
    max(business_date) filter (where {{ is_load }} and business_date < {{ this_date }}) as previous_date,
    max(if({{ is_load }} and business_date < {{ this_date }}, {{ dated_load }},
        null)).extract as previous_extract,
    max(business_date) filter (where {{ is_load }}) as last_date,
    max(if({{ is_load }}, struct(business_date, commit_id), null)).commit_id as last_date_commit_id,
    max(if({{ is_load }}, {{ dated_load }}, null)).extract as last_extract,
    to_json(sort_array(
        collect_list({{ dated_load }}) filter (where {{ is_load }} and business_date > {{ this_date }})
    )) as later_loads
from commits
{%- endmacro -%}
