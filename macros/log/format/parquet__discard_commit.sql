{#- Take the rows of one commit away from a side relation. -#}
{%- macro parquet__discard_commit(relation, commit_id) -%}
    {{ return(['alter table ' ~ relation ~ ' drop if exists partition (tidemark_commit = ' ~ commit_id ~ ')']) }}
{%- endmacro -%}
