{#- The columns of `tidemark_commits`, in order. -#}
{%- macro commit_columns() -%}
    {{ return([
        {'name': 'commit_id', 'type': 'bigint', 'description': 'Rises with the commits of an entity; the UTC moment it began as yyMMddHHmmssSSS'},
        {'name': 'relation', 'type': 'string', 'description': 'schema.name of the entity'},
        {'name': 'entity', 'type': 'string', 'description': 'Name of the entity'},
        {'name': 'kind', 'type': 'string', 'description': 'load, repeat (a date loaded again with nothing new), full_refresh, rehash, rollback, erase_key; of derived tables scd2, feed, shred; savepoint, clean, compact, populate_manifest'},
        {'name': 'business_date', 'type': 'date', 'description': 'The business date loaded'},
        {'name': 'state', 'type': 'string', 'description': 'inflight, completed, rolled_back'},
        {'name': 'started_at', 'type': 'timestamp', 'description': 'When the run of this entity began'},
        {'name': 'completed_at', 'type': 'timestamp', 'description': 'When it was completed or rolled back'},
        {'name': 'rows_read', 'type': 'bigint', 'description': 'Rows of the extract = applied keys + rejected + exact duplicates'},
        {'name': 'rows_inserted', 'type': 'bigint', 'description': 'Keys that are new; enriched events and entities that were stored'},
        {'name': 'rows_updated', 'type': 'bigint', 'description': 'Keys whose compared columns changed'},
        {'name': 'rows_deleted', 'type': 'bigint', 'description': 'Keys gone from a full extract'},
        {'name': 'rows_unchanged', 'type': 'bigint', 'description': 'Keys that came unchanged'},
        {'name': 'rows_not_supplied', 'type': 'bigint', 'description': 'Keys that a delta did not supply'},
        {'name': 'rows_rejected', 'type': 'bigint', 'description': 'Rows of the extract that were rejected'},
        {'name': 'rows_duplicate', 'type': 'bigint', 'description': 'Exact duplicates left out; of enriched events natural duplicates'},
        {'name': 'rows_natural_in_batch', 'type': 'bigint', 'description': 'Enriched events left out as copies of one in the same batch'},
        {'name': 'rows_natural_cross_batch', 'type': 'bigint', 'description': 'Enriched events left out as copies of one in another batch'},
        {'name': 'rows_synthetic_in_batch', 'type': 'bigint', 'description': 'Enriched events that got a new id, as another one of the batch had theirs'},
        {'name': 'rows_synthetic_cross_batch', 'type': 'bigint', 'description': 'Enriched events that got a new id, as one of another batch had theirs'},
        {'name': 'etl_tstamp', 'type': 'timestamp', 'description': 'Etl time of a batch of enriched events, the greatest of its events'},
        {'name': 'rows_ignored', 'type': 'bigint', 'description': 'Messages that are no change of the table: of other tables, markers, tombstones, heartbeats, DDL'},
        {'name': 'rows_tied', 'type': 'bigint', 'description': 'Ties of change events: another content at a key and sequence that an event had already'},
        {'name': 'rows_logged', 'type': 'bigint', 'description': 'Rows appended to the log'},
        {'name': 'rows_superseded', 'type': 'bigint', 'description': 'Log rows that this commit superseded'},
        {'name': 'batch_id', 'type': 'bigint', 'description': 'Batch of events: the first commit that took a part of it'},
        {'name': 'first_sequence_num', 'type': 'bigint', 'description': 'Least sequence number of the events applied'},
        {'name': 'last_sequence_num', 'type': 'bigint', 'description': 'Greatest sequence number applied so far: the high-water mark'},
        {'name': 'last_file', 'type': 'string', 'description': 'Last file of the batch, in name order'},
        {'name': 'log_version_before', 'type': 'bigint', 'description': 'Version of the log table before, where the format has versions'},
        {'name': 'log_version_after', 'type': 'bigint', 'description': 'Version of the log table after'},
        {'name': 'current_version_before', 'type': 'bigint', 'description': 'Version of the current table before'},
        {'name': 'current_version_after', 'type': 'bigint', 'description': 'Version of the current table after'},
        {'name': 'source_relation', 'type': 'string', 'description': 'schema.name of what a derived table reads (scd2, feed)'},
        {'name': 'source_commit_id', 'type': 'bigint', 'description': 'The commit meant: how far a derived table has read (scd2, feed), where a rollback went to, what a savepoint keeps, from where on clean left the changes'},
        {'name': 'is_correction', 'type': 'boolean', 'description': 'Whether more was done to the log than to append what comes after everything in it'},
        {'name': 'undone_by', 'type': 'bigint', 'description': 'The rollback that undid the commit, which then is rolled_back'},
        {'name': 'config_fingerprint', 'type': 'string', 'description': 'md5 of config'},
        {'name': 'config', 'type': 'string', 'description': 'What later runs are held to, as JSON'},
        {'name': 'invocation_id', 'type': 'string', 'description': 'dbt invocation'},
        {'name': 'details', 'type': 'string', 'description': 'What an operation did, as JSON'},
        {'name': 'state_at', 'type': 'timestamp', 'description': 'When this state was recorded'},
    ]) }}
{%- endmacro -%}

{#- Kinds of commits that write the log: one of these in flight is finished or rolled back by the entity's next run. -#}
{%- macro log_kinds() -%}
    {{ return("'load', 'full_refresh', 'rehash', 'rollback'") }}
{%- endmacro -%}

{#- One row per commit, its last state, over the append-only table of states. -#}
{%- macro commits_view_sql(view, states) -%}
create or replace view {{ view }} as
select
    {{ tidemark.column_list_expr(tidemark.commit_columns() | map(attribute='name')) }}
from ({{ tidemark.last_states_sql(states) }})
where _tidemark_rank = 1
{%- endmacro -%}

{#- States of commits with `_tidemark_rank` 1 for the last of each commit. -#}
{%- macro last_states_sql(states) -%}
    select
        *,
        row_number() over (
            partition by relation, commit_id
            order by state_at desc nulls last, state = 'inflight' asc nulls last
        ) as _tidemark_rank
    from {{ states }}
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
    {{ return(['commit_id', 'kind', 'state', 'business_date', 'last_sequence_num', 'source_commit_id', 'rows_read', 'undone_by', 'config']) }}
{%- endmacro -%}

{#- All that a run needs to know of an entity's commits, as one row from one pass over them: the last ids, the configuration they were
    made with, what is in flight, and the loaded dates around `business_date`. Of `later_loads` the last of a date counts. -#}
{%- macro entity_state_sql(states, relation, business_date) -%}
{%- set this_date = "date'" ~ business_date ~ "'" if business_date else 'cast(null as date)' -%}
{%- set is_load = "state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id" -%}
with commits as (
    select
        *,
        max(if(kind = 'full_refresh' and state = 'completed', commit_id, 0)) over () as log_start_id
    from (
    {{ tidemark.last_states_sql(states) }}
        where relation = {{ tidemark.string_literal(relation) }}
    )
    where _tidemark_rank = 1
)

select
    max(commit_id) as last_id,
    coalesce(max(commit_id) filter (where state = 'completed' and kind in ({{ tidemark.log_kinds() }})), 0) as last_commit_id,
    max(last_sequence_num) filter (where state = 'completed' and commit_id >= log_start_id) as last_sequence_num,
    max_by(config, commit_id) filter (where state = 'completed' and config is not null) as config,
    to_json(collect_list(struct(commit_id, kind, business_date, config)) filter (
        where state = 'inflight' and kind in ({{ tidemark.log_kinds() }})
    )) as inflight,
    to_json(collect_list(commit_id) filter (where undone_by is not null)) as undone,
    max(commit_id) filter (where {{ is_load }} and business_date = {{ this_date }}) as this_commit_id,
    max(business_date) filter (where {{ is_load }} and business_date < {{ this_date }}) as previous_date,
    max(business_date) filter (where {{ is_load }}) as last_date,
    max(if({{ is_load }}, struct(business_date, commit_id), null)).commit_id as last_date_commit_id,
    to_json(sort_array(
        collect_list(struct(business_date, commit_id)) filter (where {{ is_load }} and business_date > {{ this_date }})
    )) as later_loads
from commits
{%- endmacro -%}
