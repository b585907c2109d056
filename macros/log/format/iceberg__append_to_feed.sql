{#- The same by a MERGE, as of an INSERT Iceberg checks nothing: it fails if a file has come since it was
    planned that may have rows of commits after `after`. No row is updated, as no commit's number is below 0.
    -#}
{%- macro iceberg__append_to_feed(relation, names, rows, after) -%}
    {{ return([tidemark.append_by_merge_sql(
        relation, names, rows, 'stored._commit_id = -arrived._commit_id and stored._commit_id > ' ~ after
    )]) }}
{%- endmacro -%}
