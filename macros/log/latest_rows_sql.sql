{#- Current as the log has it: the latest row in force of every key. Rebuilds current from nothing. -#}
{%- macro latest_rows_sql(roles, relations) -%}
select
    {{ tidemark.column_list_expr(tidemark.current_names(roles)) }}
from (
    select
        *,
        row_number() over (partition by _key_hash
            order by {{ tidemark.log_order_expr(roles) }} desc nulls last) as _tidemark_rank
    from {{ relations['log'] }}
    where {{ tidemark.change_in_force_expr(roles) }}
)
where _tidemark_rank = 1
{%- endmacro -%}
