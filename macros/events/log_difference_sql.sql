{#- The derived rows as what is to be written: all of them, or, for late events, those that differ from the log's, with a mark
    (`_supersedes`) on each stored row that does not hold any more. Of columns that the source has dropped since (`kept_gone`), of which
    the derived rows know nothing, each has what it had, and differs as little if one of them was all that it changed. -#}
{%- macro log_difference_sql(cfg, plan, sources, load) -%}
{%- set names = plan['columns'] | map(attribute='name') | list -%}
{%- set meta = tidemark.event_meta_columns(cfg) -%}
{%- set today = "date'" ~ load['business_date'] ~ "'" -%}
{%- set gone = plan.get('kept_gone', []) | map(attribute='name') | list -%}
{#- of a table without key the rows are known by the hash that they have -#}
{%- set has_hash = gone and plan['keyed'] -%}
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
        if(derived._event_id is null, null, struct({{ tidemark._wanted_list(names, gone, columns) }},
            coalesce(logged._business_date, {{ today }}) as _business_date,
            coalesce(logged._eff_start_date, {{ today }}) as _eff_start_date,
            coalesce(logged._batch_id, {{ '' if cfg['on_tie'] == 'content' else 'derived._tidemark_order.batch, ' }}{{ load['batch_id'] }}) as _batch_id,
            cast(null as bigint) as _supersedes)) as wanted,
        if(logged._event_id is null, null, struct({{ tidemark.column_list_expr(names + gone + columns[names | length:], 'logged') | replace('\n    ', ' ') }},
            logged._business_date, logged._eff_start_date, logged._batch_id, logged._commit_id as _supersedes)) as replaced
    from derived
    full outer join (select *{% if has_hash %}, {{ tidemark.row_hash_expr(plan['compared'], cfg['hash']) | indent(8) }} as _kept_hash{% endif %} from {{ sources['existing'] }} where _key_hash is not null) as logged
        on
            derived.{{ '_key_hash' if plan['keyed'] else '_tidemark_group' }} = logged.{{ '_key_hash' if plan['keyed'] else '_tidemark_group' }}
            and derived._event_id = logged._event_id
            and derived._source_operation = logged._source_operation
            {%- if not plan['keyed'] %}
            and (derived._source_operation not in ('TRUNCATE', 'SNAPSHOT') or derived._key_hash = logged._key_hash)
            {%- endif %}
    where
        not (
            {{ tidemark._derived_operation_expr(gone) }} <=> logged._operation
            and derived._key_hash <=> logged._key_hash
            {%- if gone %}
            and (derived._row_hash <=> logged._row_hash {{- ' or derived._row_hash <=> logged._kept_hash' if has_hash }})
            and array_sort({{ tidemark._derived_changes_expr(gone) }}) <=> array_sort(logged._changed_columns)
            {%- else %}
            and derived._row_hash <=> logged._row_hash
            and derived._changed_columns <=> logged._changed_columns
            {%- endif %}
        )
)

select
    inline(array_compact(array(wanted, replaced)))
from differences
{%- endif -%}
{%- endmacro -%}

{#- Columns of a row that is derived anew. -#}
{%- macro _wanted_list(names, gone, columns) -%}
    {%- set told = {'_operation': tidemark._derived_operation_expr(gone), '_changed_columns': tidemark._derived_changes_expr(gone)} if gone else {} -%}
    {%- set terms = [tidemark.column_list_expr(names, 'derived')] + ([tidemark.column_list_expr(gone, 'logged')] if gone else []) -%}
    {%- for name in columns[names | length:] -%}
        {%- do terms.append(told[name] ~ ' as ' ~ name if name in told else tidemark.column_list_expr([name], 'derived')) -%}
    {%- endfor -%}
    {{ return(terms | join(', ') | replace('\n    ', ' ')) }}
{%- endmacro -%}

{#- What a row does to its key: also a change of columns that are gone is one. -#}
{%- macro _derived_operation_expr(gone) -%}
    {%- if not gone -%}{{ return('derived._operation') }}{%- endif -%}
    {{ return("if(derived._operation = 'N' and logged._operation = 'U' and coalesce(arrays_overlap(logged._changed_columns, array("
        ~ tidemark.string_literals(gone) ~ ")), false), 'U', derived._operation)") }}
{%- endmacro -%}

{#- The columns that it changes. -#}
{%- macro _derived_changes_expr(gone) -%}
    {%- set of_gone = 'array_intersect(logged._changed_columns, array(' ~ tidemark.string_literals(gone) ~ '))' -%}
    {{ return('if(' ~ tidemark._derived_operation_expr(gone) ~ " = 'U' and size(" ~ of_gone
        ~ ') > 0, array_union(coalesce(derived._changed_columns, cast(array() as array<string>)), ' ~ of_gone ~ '), derived._changed_columns)') }}
{%- endmacro -%}
