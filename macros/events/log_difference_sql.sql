{#- The derived rows as what is to be written: all of them, or, for late events, those that differ from the
    log's, with a mark (`_supersedes`) on each stored row that does not hold any more. For columns that the
    source has dropped since (`kept_gone`), of which the derived rows know nothing, each has what it had, and
    differs as little if one of them was all that it changed. -#}
{%- macro log_difference_sql(cfg, roles, sources, load) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set meta = tidemark.event_meta_columns(cfg) -%}
{%- set today = "date'" ~ load['business_date'] ~ "'" -%}
{%- set gone = roles.get('kept_gone', []) | map(attribute='name') | list -%}
{#- their values are in no hash: a late event may change what one of them has that an event left out -#}
{%- set ignored = roles['ignored'] if roles['keyed'] else [] -%}
{%- set heals = tidemark.heals(roles) -%}
{%- set columns = names + ['_key_hash', '_row_hash', '_operation', '_changed_columns', '_unsupplied']
    + meta -%}
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
        if(derived._event_id is null {%- if heals %} or (derived._source_operation = 'ADD_COLUMN'
            and {{ tidemark._derived_operation_expr(heals) }} = 'N'){% endif %}, null,
            struct({{ tidemark._wanted_list(roles, columns) }},
            coalesce(logged._business_date, {{ today }}) as _business_date,
            coalesce(logged._eff_start_date, {{ today }}) as _eff_start_date,
            coalesce(logged._batch_id, {{ '' if cfg['on_tie'] == 'content'
                else 'if(derived._tidemark_order.batch > 0, derived._tidemark_order.batch, null), '
                }}{{ load['batch_id'] }}) as _batch_id,
            cast(null as bigint) as _supersedes)) as wanted,
        if(logged._event_id is null, null, struct({{ tidemark.column_list_expr(names + gone
            + columns[names | length:], 'logged') | replace('\n    ', ' ') }},
            logged._business_date, logged._eff_start_date, logged._batch_id,
                logged._commit_id as _supersedes)) as replaced
    from derived
    full outer join (select *
        from {{ tidemark._with_kept_sql(cfg, roles, sources['existing']) | indent(4) if heals
            else sources['existing'] }} where _key_hash is not null) as logged
        on
            derived.{{ '_key_hash' if roles['keyed'] else '_tidemark_group' }} = logged.{{ '_key_hash'
                if roles['keyed'] else '_tidemark_group' }}
            and derived._event_id = logged._event_id
            and derived._source_operation = logged._source_operation
            {%- if not roles['keyed'] %}
            and (derived._source_operation not in ('TRUNCATE', 'SNAPSHOT')
                or derived._key_hash = logged._key_hash)
            {%- endif %}
    where
        not (
            {{ tidemark._derived_operation_expr(heals) }} <=> logged._operation
            and derived._key_hash <=> logged._key_hash
            {%- if heals %}
            and (derived._row_hash <=> logged._row_hash or derived._row_hash <=> logged._kept_hash)
            and array_sort({{ tidemark._derived_changes_expr(roles) }})
                <=> array_sort(logged._changed_columns)
            {%- else %}
            and derived._row_hash <=> logged._row_hash
            and derived._changed_columns <=> logged._changed_columns
            {%- endif %}
        )
        {%- if ignored %}
        or {{ tidemark.rows_differ_expr(ignored, 'derived', 'logged') | indent(8) }}
        {%- endif %}
)

{% set rows = 'select\n    inline(array_compact(array(wanted, replaced)))\nfrom differences' -%}
{%- if heals %}
select
    {{ tidemark.column_list_expr(names + gone + columns[names | length:]
        + ['_business_date', '_eff_start_date', '_batch_id', '_supersedes'])
        | replace('`_row_hash`', tidemark._whole_hash_expr(cfg, roles)) }}
from (
    {{ rows | indent(4) }}
)
{%- else %}
{{ rows }}
{%- endif -%}
{%- endif -%}
{%- endmacro -%}

{#- Whether rows that are derived anew keep what they had in columns that are gone. For a table without key
    they are known by the hash that they have, and none changes. -#}
{%- macro heals(roles) -%}
    {{ return(roles['keyed'] and roles.get('kept_gone', []) | length > 0) }}
{%- endmacro -%}

{#- The log of the touched keys, and of each row what _kept_list() tells. -#}
{%- macro _with_kept_sql(cfg, roles, existing) -%}
(
    select
        *,
        {{ tidemark._kept_list(cfg, roles) | indent(8) }}
    from {{ existing }}
    where _key_hash is not null
)
{%- endmacro -%}

{#- The hash of a row that is derived anew, with what it has in columns that are gone: by that it differs from
    the one before. -#}
{%- macro _whole_hash_expr(cfg, roles) -%}
    {{ return('if(_supersedes is null and _row_hash is not null, '
        ~ tidemark.row_hash_expr(roles['compared'] + roles['kept_gone'], cfg['hash'])
        ~ ', _row_hash) as `_row_hash`') }}
{%- endmacro -%}

{#- Columns of a row that is derived anew. -#}
{%- macro _wanted_list(roles, columns) -%}
    {%- set gone, names = roles.get('kept_gone', []) | map(attribute='name') | list,
        roles['columns'] | map(attribute='name') | list -%}
    {%- set told = {'_operation': tidemark._derived_operation_expr(true),
        '_changed_columns': tidemark._derived_changes_expr(roles)}
        if gone and roles['keyed'] else {} -%}
    {%- set terms = [tidemark.column_list_expr(names, 'derived')]
        + ([tidemark.column_list_expr(gone, 'logged')] if gone else []) -%}
    {%- for name in columns[names | length:] -%}
        {%- do terms.append(told[name] ~ ' as ' ~ name if name in told
            else tidemark.column_list_expr([name], 'derived')) -%}
    {%- endfor -%}
    {{ return(terms | join(', ') | replace('\n    ', ' ')) }}
{%- endmacro -%}

{#- What is to be known of a stored row: its hash without the columns that are gone, and whether it changed
    one of them. It has others than the row before then, as have those from after the drop: where nothing
    tells what they changed, NULL is taken for that. -#}
{%- macro _kept_list(cfg, roles) -%}
    {%- set of_gone, given = tidemark.row_hash_expr(roles['kept_gone'], cfg['hash']), [] -%}
    {%- for column in roles['kept_gone'] -%}{%- do given.append(tidemark.quote_identifier(column['name'])
        ~ ' is not null') -%}{%- endfor -%}
    {{ return(tidemark.row_hash_expr(roles['compared'], cfg['hash'])
        ~ " as _kept_hash,\n_operation = 'U' and if(_changed_columns is null, "
        ~ given | join(' or ') ~ ', size(' ~ tidemark._changes_of_gone_expr(roles, '_changed_columns')
            ~ ') > 0) and not (' ~ of_gone
        ~ ' <=> lag(' ~ of_gone
            ~ ') over (partition by _key_hash order by _tidemark_order asc nulls first)) as _changes_gone') }}
{%- endmacro -%}

{#- Those names of changed columns that are no column's any more, under the name that it has or had
    first. -#}
{%- macro _changes_of_gone_expr(roles, names) -%}
    {%- set gone, present = [], [] -%}
    {%- for column in roles['kept_gone'] -%}
        {%- do gone.extend([column['name'], column['hash_name']]) -%}
    {%- endfor -%}
    {%- for column in roles['columns'] -%}
        {%- do present.extend([column['name'], column['hash_name']]) -%}
    {%- endfor -%}
    {{ return('array_except(' ~ names ~ ', array('
        ~ tidemark.string_literals(present | reject('in', gone) | unique) ~ '))') }}
{%- endmacro -%}

{#- What a row does to its key: also a change of columns that are gone is one. -#}
{%- macro _derived_operation_expr(heals) -%}
    {{ return("if(derived._operation = 'N' and logged._changes_gone, 'U', derived._operation)" if heals
        else 'derived._operation') }}
{%- endmacro -%}

{#- The columns that it changes. -#}
{%- macro _derived_changes_expr(roles) -%}
    {{ return('if(logged._changes_gone and logged._changed_columns is not null, '
        ~ 'array_union(coalesce(derived._changed_columns, cast(array() as array<string>)), '
        ~ tidemark._changes_of_gone_expr(roles, 'logged._changed_columns')
        ~ '), derived._changed_columns)') }}
{%- endmacro -%}
