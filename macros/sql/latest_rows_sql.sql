{#- Current as the log has it: the latest row in force of every key. Rebuilds current from nothing. -#}
{%- macro latest_rows_sql(plan, relations) -%}
select
    {{ tidemark.column_list_expr(plan['stored'] | map(attribute='name')) }},
    _key_hash,
    _row_hash,
    _operation,
    _eff_start_date
from (
    select
        *,
        row_number() over (partition by _key_hash order by _business_date desc nulls last) as _tidemark_rank
    from {{ relations['log'] }}
    where {{ tidemark.in_force_expr() }}
)
where _tidemark_rank = 1
{%- endmacro -%}
