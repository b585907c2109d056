{#- The same by a MERGE, as of an INSERT Iceberg checks nothing: it fails if a file has come since it was planned that may have rows of
    commits after `after`. No row is updated, as no commit's number is below 0. -#}
{%- macro iceberg__append_to_feed(relation, names, rows, after) -%}
{%- set statement -%}
merge into {{ relation }} as stored
using (
    {{ rows | indent(4) }}
) as arrived
    on stored._commit_id = -arrived._commit_id and stored._commit_id > {{ after }}
when matched then update set
    _commit_id = stored._commit_id
when not matched then insert (
    {{ tidemark.column_list_expr(names) }}
) values (
    {{ tidemark.column_list_expr(names, 'arrived') }}
)
{%- endset -%}
    {{ return([statement]) }}
{%- endmacro -%}
