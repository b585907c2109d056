{#- The sensitive values of the rows of current: of each key and row one has `_tidemark_rank` 1. Equal hashes
    are equal values, so that any change that gave the row its hash has them; not so where `by_change`, as a
    sensitive column is not compared: then it is the change in force that current has the row of, whose date
    is the row's `_eff_start_date` and here `_business_date`. -#}
{%- macro sensitive_of_current_sql(flow, log_relation, sensitive_relation, by_change) -%}
{%- if not by_change -%}
select
    *,
    row_number() over (
        partition by _key_hash, _row_hash
        order by _commit_id desc nulls last, _business_date desc nulls last
    ) as _tidemark_rank
from {{ sensitive_relation }}
{%- else -%}
{%- set own = ['_key_hash', '_row_hash', '_business_date', '_commit_id']
    + (['_event_id'] if flow.get('flow') == 'events' else []) -%}
select
    {{ tidemark.column_list_expr(own, 'log') }},
    sensitive.* except ({{ own | join(', ') }}),
    row_number() over (
        partition by log._key_hash, log._row_hash, log._business_date
        order by {{ tidemark.log_order_expr(flow, 'log') }} desc nulls last
    ) as _tidemark_rank
from {{ log_relation }} as log
left join {{ sensitive_relation }} as sensitive
    on
        {{ tidemark.same_row_expr(tidemark.sensitive_key(flow), 'log', 'sensitive') | indent(8) }}
where {{ tidemark.change_in_force_expr(flow, 'log') }}
{%- endif -%}
{%- endmacro -%}

{#- Whether a hash does not tell the sensitive values of its row: one is not compared, or not as it is.
    `columns` are those that are sensitive. -#}
{%- macro is_sensitive_by_change(columns) -%}
    {%- for column in columns
        if not column['key']
            and (not column['compared'] or column.get('compare_as')) -%}{{ return(true) }}{%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- The sensitive columns of an entity as its settings have them, with what is_sensitive_by_change() asks of a
    entity's. -#}
{%- macro sensitive_columns_of(cfg) -%}
    {%- set keys, ignored, declared = cfg['keys'] | map('lower') | list, cfg['ignore'] | map('lower') | list,
        tidemark.by_name(cfg['columns']) -%}
    {%- set columns = [] -%}
    {%- for name in cfg['sensitive'] -%}
        {%- set lower = name | lower -%}
        {%- do columns.append({
            'name': name,
            'key': lower in keys,
            'compared': tidemark.is_compared(cfg, name) if cfg['extract'] != 'events'
                else lower not in ignored,
            'compare_as': declared.get(lower, {}).get('settings', {}).get('compare_as'),
        }) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}
