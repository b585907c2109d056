{#- Write a slice of the log in one Iceberg commit, by a MERGE also where rows are only appended: of an INSERT Iceberg checks nothing. A
    commit fails if a file has come since its MERGE was planned that may have rows of its condition, and by their statistics of the
    commit's columns all files of later commits do; a fence has a negative `_superseded_by`. -#}
{%- macro iceberg__append_to_log(relations, names, rows, load) -%}
    {%- set later = [
        'log._commit_id > ' ~ load['last_commit_id'], 'log._superseded_by > ' ~ load['last_commit_id'], 'log._superseded_by < 0',
    ] -%}
    {{ return([tidemark.merge_into_log_sql(relations, names, rows, load, later)]) }}
{%- endmacro -%}

{#- Stop statements on the log that began before now, as a row came that they may not overlook: they fail when they commit. -#}
{%- macro iceberg__fence_log(log_table, commit_id) -%}
    {{ return([
        'insert into ' ~ log_table ~ ' (_superseded_by) values (-' ~ commit_id ~ ')',
        'delete from ' ~ log_table ~ ' where _superseded_by < 0',
    ]) }}
{%- endmacro -%}
