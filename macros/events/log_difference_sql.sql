{#- The derived rows as what is to be written: all of them, or, for late events, those that differ from the log's, with a mark
    (`_supersedes`) on each stored row that does not hold any more. -#}
{%- macro log_difference_sql(cfg, plan, sources, load) -%}
{%- set names = plan['columns'] | map(attribute='name') | list -%}
{%- set meta = tidemark.event_meta_columns(cfg) -%}
{%- set today = "date'" ~ load['business_date'] ~ "'" -%}
{%- set columns = names + ['_key_hash', '_row_hash', '_operation', '_changed_columns', '_unsupplied'] + meta -%}
{%- if not load['late'] -%}
select
    {{ tidemark.column_list_expr(columns) }},
    {{ today }} as _business_date,
    {{ today }} as _eff_start_date,
    {{ load['batch_id'] }} as _batch_id,
    cast(null as bigint) as _supersedes
from derived
{%- else -%}
,

differences as (
    select
        if(derived._event_id is null, null, struct({{ tidemark.column_list_expr(columns, 'derived') | replace('\n    ', ' ') }},
            coalesce(logged._business_date, {{ today }}) as _business_date,
            coalesce(logged._eff_start_date, {{ today }}) as _eff_start_date,
            coalesce(logged._batch_id, {{ '' if cfg['on_tie'] == 'content' else 'derived._tidemark_order.batch, ' }}{{ load['batch_id'] }}) as _batch_id,
            cast(null as bigint) as _supersedes)) as wanted,
        if(logged._event_id is null, null, struct({{ tidemark.column_list_expr(columns, 'logged') | replace('\n    ', ' ') }},
            logged._business_date, logged._eff_start_date, logged._batch_id, logged._commit_id as _supersedes)) as replaced
    from derived
    full outer join (select * from {{ sources['existing'] }} where _key_hash is not null) as logged
        on
            derived.{{ '_key_hash' if plan['keyed'] else '_tidemark_group' }} = logged.{{ '_key_hash' if plan['keyed'] else '_tidemark_group' }}
            and derived._event_id = logged._event_id
            and derived._source_operation = logged._source_operation
            {%- if not plan['keyed'] %}
            and (derived._source_operation not in ('TRUNCATE', 'SNAPSHOT') or derived._key_hash = logged._key_hash)
            {%- endif %}
    where
        not (
            derived._operation <=> logged._operation
            and derived._key_hash <=> logged._key_hash
            and derived._row_hash <=> logged._row_hash
            and derived._changed_columns <=> logged._changed_columns
        )
)

select
    inline(array_compact(array(wanted, replaced)))
from differences
{%- endif -%}
{%- endmacro -%}
