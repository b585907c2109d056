{#- Write a slice: its files are seen when the metastore gets their partitions. Spark makes a call of each hundred of them, unless it is
    told otherwise; a late date of a delta, or a rollback, has a partition for each date that it touches. -#}
{%- macro parquet__append_to_log(relations, names, rows, load) -%}
{%- set plain = names | reject('equalto', '_business_date') | list -%}
{%- set statement -%}
insert into {{ relations['log_table'] }} (
    {{ tidemark.column_list_expr(plain) }},
    _supersedes,
    tidemark_date,
    tidemark_commit
)
select
    {{ tidemark.column_list_expr(plain) }},
    {{ 'cast(null as bigint) as _supersedes' if load['forward'] else '_supersedes' }},
    _business_date as tidemark_date,
    {{ load['commit_id'] }} as tidemark_commit
from {{ rows }}
{%- endset -%}
{{ return(['set spark.sql.addPartitionInBatch.size = 2147483647', statement]) }}
{%- endmacro -%}

{#- A log of files has one writer, as the metastore tells of no other. -#}
{%- macro parquet__fence_log(log_table, commit_id) -%}
    {{ return([]) }}
{%- endmacro -%}
