{#- `<entity>__history`: the I, U and D rows of each business date that are in force. -#}
{%- macro history_view_sql(roles, relations) -%}
{%- set names = tidemark.log_columns(roles) | map(attribute='name') | reject('equalto',
    '_superseded_by') | list -%}
create or replace view {{ relations['history'] }} as
select
    {{ tidemark.column_list_expr(names) }}
from {{ relations['log'] }}
where {{ tidemark.change_in_force_expr(roles) }}
{%- endmacro -%}
