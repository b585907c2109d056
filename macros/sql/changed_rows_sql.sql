{#-
    The rows that a business date adds to the log, without their commit: I and U with the values that arrived, D with
    the last known ones. Of exact duplicates one is kept; where their ignored columns differ, the greatest values.
-#}
{%- macro changed_rows_sql(cfg, plan, staged, classified, existing, business_date) -%}
with changed_keys as (
    select
        _key_hash,
        _operation
    from {{ classified }}
    where _operation in ('I', 'U', 'D')
),

arrived_rows as (
    select
        staged.*,
        row_number() over (
            partition by staged._key_hash
            order by {{ tidemark._tie_break(plan['ignored']) }}
        ) as _tidemark_copy
    from {{ staged }} as staged
    inner join changed_keys on staged._key_hash = changed_keys._key_hash
    where changed_keys._operation in ('I', 'U')
),

rows_before as (
    select existing.*
    from {{ existing }} as existing
    inner join changed_keys on existing._key_hash = changed_keys._key_hash
    where changed_keys._operation in ('U', 'D')
)

select
    {%- for column in plan['columns'] %}
    {%- set name = tidemark.quote_identifier(column['name']) %}
    if(changed_keys._operation = 'D', before.{{ name }}, after.{{ name }}) as {{ name }},
    {%- endfor %}
    changed_keys._key_hash,
    if(changed_keys._operation = 'D', before._row_hash, after._row_hash) as _row_hash,
    changed_keys._operation,
    date'{{ business_date }}' as _business_date,
    date'{{ business_date }}' as _eff_start_date,
    {%- if cfg['changed_columns'] %}
    case
        when changed_keys._operation = 'U'
            then {{ tidemark.changed_columns_expr(plan['compared'], 'before', 'after') | indent(8) }}
    end as _changed_columns
    {%- else %}
    cast(null as array<string>) as _changed_columns
    {%- endif %}
from changed_keys
left join arrived_rows as after
    on changed_keys._key_hash = after._key_hash and after._tidemark_copy = 1
left join rows_before as before
    on changed_keys._key_hash = before._key_hash
{%- endmacro -%}


{%- macro _tie_break(ignored) -%}
    {%- set terms = [] -%}
    {%- for column in ignored -%}
        {%- set value = tidemark.canonical_text_expr('staged.' ~ tidemark.quote_identifier(column['name']), column['type']) -%}
        {%- do terms.append(value ~ ' desc nulls last') -%}
    {%- endfor -%}
    {{ return(terms | join(', ') if terms else 'staged._key_hash desc nulls last') }}
{%- endmacro -%}
