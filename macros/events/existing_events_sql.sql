{#- What a batch of events meets, for replayed_keys_sql() and replayed_copies_sql(): the rows that stand, each
    the start of a timeline, or with `load.late` the log in force of all keys that the batch touches.
    `load.everything`: of all keys, because something concerns the whole table. -#}
{%- macro existing_events_sql(cfg, roles, relations, staged, load) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set by = '_key_hash' if roles['keyed'] else '_row_hash' -%}
{%- set before = '_before' ~ by -%}
{% if not load['everything'] -%}
with touched as (
    select {{ by }} from {{ staged }} where _is_usable and {{ by }} is not null
    union
    select {{ before }} from {{ staged }} where _is_usable and {{ before }} is not null
    {%- if load['late'] and load['linked'] %}
    union
    select _key_hash from {{ load['linked'] }}
    {%- endif %}
)

{% endif -%}
{% if load['late'] -%}
select
    {{ tidemark.column_list_expr(names + roles.get('kept_gone', []) | map(attribute='name') | list, 'log') }},
    log._key_hash,
    {%- if roles['keyed'] %}
    if(log._source_operation in ('DELETE', 'MOVE_OUT'), 'delete', 'upsert') as _tidemark_effect,
    {%- else %}
    log._row_hash as _tidemark_group,
    case when log._source_operation in ('DELETE', 'MOVE_OUT') then -1
        when log._source_operation = 'UPDATE' then 0 else 1 end as _tidemark_step,
    {%- endif %}
    log._unsupplied,
    {{ tidemark.event_order_expr(cfg, 'log') }} as _tidemark_order,
    {{ tidemark.column_list_expr(tidemark.event_meta_columns(cfg), 'log') }},
    log._operation,
    log._row_hash,
    log._changed_columns,
    log._business_date,
    log._eff_start_date,
    log._batch_id,
    log._commit_id
from (
    {{ tidemark.log_with_sensitive_sql(roles, relations) | indent(4) }}
) as log
{%- if not load['everything'] %}
left semi join touched on log.{{ by }} = touched.{{ by }}
{%- endif %}
where {{ tidemark.in_force_expr(alias='log') }} and log._key_hash is not null
{%- elif roles['keyed'] -%}
select
    {{ tidemark.column_list_expr(names, 'existing') }},
    existing._key_hash,
    'base' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    {{ tidemark.place_expr(cfg, tidemark.sequence_expr(cfg, 'existing'), '1', "''") }} as _tidemark_order,
    {{ tidemark._null_meta_list(cfg, roles) }}
from (
    {{ tidemark.existing_rows_sql(roles, relations) | indent(4) }}
) as existing
{%- if not load['everything'] %}
left semi join touched on existing._key_hash = touched._key_hash
{%- endif %}
{%- else -%}
select
    {%- for name in names %}
    any_value(existing.{{ tidemark.quote_identifier(name) }}) as {{ tidemark.quote_identifier(name) }},
    {%- endfor %}
    existing._row_hash as _tidemark_group,
    count(*) as _tidemark_step,
    cast(null as {{ load['order_type'] }}) as _tidemark_order,
    {{ tidemark._null_meta_list(cfg, roles) }}
from (
    {{ tidemark.existing_rows_sql(roles, relations) | indent(4) }}
) as existing
{%- if not load['everything'] %}
left semi join touched on existing._row_hash = touched._row_hash
{%- endif %}
group by existing._row_hash
{%- endif %}
{%- endmacro -%}

{%- macro _null_meta_list(cfg, roles) -%}
    {%- set types = {} -%}
    {%- for column in tidemark.event_log_columns(roles) -%}
        {%- do types.update({column['name']: column['type']}) -%}
    {%- endfor -%}
    {%- set terms = [] -%}
    {%- for name in tidemark.event_meta_columns(cfg) -%}
        {%- do terms.append('cast(null as ' ~ types[name] ~ ') as ' ~ name) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro -%}

{#- Nothing existed: the same columns without rows. -#}
{%- macro no_existing_events_sql(cfg, roles, load) -%}
select
    {%- for column in roles['columns'] %}
    cast(null as {{ column['type'] }}) as {{ tidemark.quote_identifier(column['name']) }},
    {%- endfor %}
    {%- if roles['keyed'] %}
    cast(null as string) as _key_hash,
    'base' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    {%- else %}
    cast(null as string) as _tidemark_group,
    cast(null as bigint) as _tidemark_step,
    {%- endif %}
    cast(null as {{ load['order_type'] }}) as _tidemark_order,
    {{ tidemark._null_meta_list(cfg, roles) }}
where false
{%- endmacro -%}
