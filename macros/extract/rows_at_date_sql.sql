{#- The rows that stood at the end of `last_date` (none: nothing stood), from the log. Used where a date is
    loaded that is not the latest. -#}
{%- macro rows_at_date_sql(roles, relations, last_date) -%}
select
    {{ tidemark.column_list_expr(roles['columns'] | map(attribute='name')) }},
    _key_hash,
    _row_hash
from (
    select
        *,
        row_number() over (partition by _key_hash order by _business_date desc nulls last) as _tidemark_rank
    from (
        {{ tidemark.log_with_sensitive_sql(roles, relations) | indent(8) }}
    )
    where
        {{ tidemark.in_force_expr() }}
        and {{ "_business_date <= date'" ~ last_date ~ "'" if last_date else 'false' }}
)
where _tidemark_rank = 1 and _operation <> 'D'
{%- endmacro -%}
