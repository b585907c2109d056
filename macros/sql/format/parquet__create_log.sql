{#-
    A Parquet log: immutable slices, one partition per business date and commit, which the metastore shows all at once,
    and the view `<entity>__log` over them. A slice holds rows and, with `_supersedes`, marks on rows of earlier slices.
-#}
{%- macro parquet__create_log(cfg, relations, columns) -%}
{%- set statement -%}
create table if not exists {{ relations['log_table'] }} (
    {{ tidemark.column_definitions_expr(
        columns | rejectattr('name', 'in', ['_business_date', '_commit_id', '_superseded_by']) | list
        + [{'name': '_supersedes', 'type': 'bigint'}, {'name': '_business_date', 'type': 'date'}, {'name': '_commit_id', 'type': 'bigint'}]
    ) }}
)
using parquet
partitioned by (_business_date, _commit_id)
tblproperties ({{ tidemark.properties_expr({'tidemark.hash_recipe': tidemark.hash_recipe_version(), 'tidemark.hash': cfg['hash']}) }})
{%- endset -%}
{{ return([statement] + tidemark.parquet__evolve_log(relations, columns)) }}
{%- endmacro -%}


{#- The view that shows slices as a log. -#}
{%- macro parquet__evolve_log(relations, columns) -%}
{%- set names = columns | map(attribute='name') | reject('equalto', '_superseded_by') | list -%}
{%- set statement -%}
create or replace view {{ relations['log'] }} as
select
    {{ tidemark.column_list_expr(names, 'slices') }},
    marks._commit_id as _superseded_by
from {{ relations['log_table'] }} as slices
left join {{ relations['log_table'] }} as marks
    on
        slices._key_hash <=> marks._key_hash
        and slices._business_date = marks._business_date
        and slices._commit_id = marks._supersedes
where slices._supersedes is null
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}
