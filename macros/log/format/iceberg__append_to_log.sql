{#- Write a slice of the log in one Iceberg commit, by a MERGE also where rows are only appended: of an INSERT
    Iceberg checks nothing. A commit fails if a file has come since its MERGE was planned that may have rows
    of its condition, and by their statistics of the commit's columns all files of later commits do; a fence
    has a negative `_superseded_by`. -#}
{%- macro iceberg__append_to_log(relations, names, rows, load) -%}
    {%- set later = [
        'log._commit_id > ' ~ load['last_commit_id'], 'log._superseded_by > ' ~ load['last_commit_id'],
        'log._superseded_by < 0',
    ] -%}
    {{ return([tidemark.merge_into_log_sql(relations, names, rows, load, later)]) }}
{%- endmacro -%}

{#- Stop statements on the log that began before now, as a row came that they may not overlook: they fail when
    they commit. -#}
{%- macro iceberg__fence_log(log_table, commit_id) -%}
    {{ return([
        'insert into ' ~ log_table ~ ' (_superseded_by) values (-' ~ commit_id ~ ')',
        'delete from ' ~ log_table ~ ' where _superseded_by < 0',
    ]) }}
{%- endmacro -%}

{#- The same of events and what lies beside them, which are superseded by nothing: a row of a commit that
    there cannot be; of claims one that holds for ever, on no event. -#}
{%- macro iceberg__fence_events(relation, commit_id, are_claims) -%}
    {{ return([
        'insert into ' ~ relation
            ~ (" (expires_at, _commit_id) values (timestamp'9999-12-31 00:00:00', -" if are_claims
            else ' (_commit_id) values (-') ~ commit_id ~ ')',
        'delete from ' ~ relation ~ ' where _commit_id < 0',
    ]) }}
{%- endmacro -%}

{#- Append the events of a batch, or what lies beside them, by a MERGE that fails after a fence, and where
    rows of a commit after `last` come at the same time. No row is updated: none that is there has such a
    number. `by` is what the rows are spread by. -#}
{%- macro iceberg__append_events(relation, columns, query, by='event_id', last=none) -%}
    {%- set later = 'stored._commit_id < 0' if last is none
        else '(stored._commit_id < 0 or stored._commit_id > ' ~ last ~ ')' -%}
    {{ return([tidemark.append_by_merge_sql(
        relation, columns | map(attribute='name') | list, query,
        'stored.' ~ by ~ ' = arrived.' ~ by ~ ' and ' ~ later
    )]) }}
{%- endmacro -%}

{#- Append rows by a MERGE whose condition `meets` no row that is there: of an INSERT Iceberg checks nothing.
    -#}
{%- macro append_by_merge_sql(relation, names, rows, meets) -%}
merge into {{ relation }} as stored
using (
    {{ rows | indent(4) }}
) as arrived
    on {{ meets }}
when matched then update set
    _commit_id = stored._commit_id
when not matched then insert (
    {{ tidemark.column_list_expr(names) }}
) values (
    {{ tidemark.column_list_expr(names, 'arrived') }}
)
{%- endmacro -%}
