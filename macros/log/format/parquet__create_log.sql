{#- A Parquet log: immutable slices, one partition per business date and commit, which the metastore shows all at once, and the view
    `<entity>__log` over them. A slice holds rows and, with `_supersedes`, marks on rows of earlier slices. Names of partition columns
    begin with a letter, because Hive's metastore cannot filter by others. -#}
{%- macro parquet__create_log(cfg, relations, columns) -%}
{%- set statement -%}
create table if not exists {{ relations['log_table'] }} (
    {{ tidemark.column_definitions_expr(
        columns | rejectattr('name', 'in', ['_business_date', '_commit_id', '_superseded_by']) | list
        + [{'name': '_supersedes', 'type': 'bigint'}, {'name': 'tidemark_date', 'type': 'date'}, {'name': 'tidemark_commit', 'type': 'bigint'}]
    ) }}
)
using parquet
partitioned by (tidemark_date, tidemark_commit)
tblproperties ({{ tidemark.properties_expr(dict(
    {'tidemark.hash_recipe': tidemark.hash_recipe_version(), 'tidemark.hash': cfg['hash']}, **tidemark.layout_properties()
)) }})
{%- endset -%}
{{ return([statement] + tidemark.parquet__evolve_log(relations, columns)) }}
{%- endmacro -%}

{#- The view that shows slices as a log. -#}
{%- macro parquet__evolve_log(relations, columns) -%}
{%- set names = columns | map(attribute='name') | reject('in', ['_superseded_by', '_business_date', '_commit_id']) | list -%}
{%- set statement -%}
create or replace view {{ relations['log'] }} as
select
    {{ tidemark.column_list_expr(names, 'slices') }},
    slices.tidemark_date as _business_date,
    slices.tidemark_commit as _commit_id,
    marks.tidemark_commit as _superseded_by
from {{ relations['log_table'] }} as slices
left join {{ relations['log_table'] }} as marks
    on
        slices._key_hash <=> marks._key_hash
        and slices.tidemark_date = marks.tidemark_date
        and slices.tidemark_commit = marks._supersedes
where slices._supersedes is null
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}
