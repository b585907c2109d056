{#-
    What a batch of events does to the log of a table with key: every event of every touched key in order, with the row
    that it leaves and its effect (I, U, D, or N for one that changed nothing).

    `existing` has the rows that stood before (each a start of its key's timeline), or, with `load.late`, the log of the
    touched keys, which is derived anew together with the batch and compared with what is stored.

        key 7    base ── UPDATE ── DELETE ── MOVE_IN ── TRUNCATE …      one window per key, in order of the sequence
                 row      U          D          I          D
-#}
{%- macro replayed_keys_sql(cfg, plan, sources, load, departures=false) -%}
{%- set names = plan['columns'] | map(attribute='name') | list -%}
{%- set values = tidemark.column_list_expr(names) -%}
{%- set prior = tidemark._of_key('1 preceding') -%}
{%- set image = 'struct(' ~ (values ~ ', _row_hash') | replace('\n    ', ' ') ~ ')' -%}
with effects as (
    {{ tidemark._effects_sql(cfg, plan, sources['staged'], load) | indent(4) }}
),

{{ tidemark._timeline_of_keys_sql(cfg, plan, sources, load) }}

{% if sources['moved'] -%}
{# What a move did not bring is what the row had under its old key. -#}
arrived as (
    select
        {%- for column in plan['columns'] %}
        {%- set quoted = tidemark.quote_identifier(column['name']) %}
        {%- if column['key'] %}
        timeline.{{ quoted }},
        {%- else %}
        if(moved._event_id is not null and array_contains(timeline._unsupplied, {{ tidemark.string_literal(column['name']) }}), moved._image.{{ quoted }}, timeline.{{ quoted }}) as {{ quoted }},
        {%- endif %}
        {%- endfor %}
        timeline.* except ({{ values | replace('\n    ', ' ') }})
    from timeline
    left join {{ sources['moved'] }} as moved
        on timeline._event_id = moved._event_id and timeline._source_operation = 'MOVE_IN' and timeline._moved_from = moved._moved_from
),
{%- else -%}
arrived as (
    select * from timeline
),
{%- endif %}

{{ tidemark._settled_sql(load) }}

preceded as (
    select
        *,
        last_value(
            if(
                _tidemark_effect in ('upsert', 'delete', 'base') and not _tidemark_is_other_row,
                struct(_tidemark_order as position, _tidemark_effect <> 'delete' as is_row),
                null
            ), true
        ) over ({{ prior }}) as _tidemark_last
        {%- if load['table_events'] %},
        last_value(_tidemark_bound, true) over ({{ prior }}) as _tidemark_last_bound
        {%- endif %}
    from settled
),

lives as (
    select
        *,
        coalesce(_tidemark_last.is_row, false)
        {%- if load['table_events'] %} and not coalesce(_tidemark_last_bound > _tidemark_last.position, false){% endif %} as _tidemark_is_there
    from preceded
),

{{ tidemark._filled_sql(cfg, plan, load) }}

hashed as (
    select
        *,
        {{ tidemark.row_hash_expr(plan['compared'], cfg['hash']) | indent(8) }} as _row_hash
    from filled
),

compared as (
    select
        *,
        last_value(
            if(_tidemark_effect in ('upsert', 'base') or (_tidemark_effect = 'fill' and _tidemark_is_there), {{ image }}, null), true
        ) over ({{ prior }}) as _tidemark_before
    from hashed
),

{% if departures -%}
{{ tidemark._departed_rows_sql() }}
{%- else -%}
{{ tidemark._derived_rows_sql(cfg, plan, load) }}

{{ tidemark._log_difference_sql(cfg, plan, sources, load) }}
{%- endif -%}
{%- endmacro -%}

{#- A value of which updates may leave out fields: a struct of the last values that each of its fields was given since the row is there.
    A struct is there if the last that gave it, or a part of it, was. -#}
{%- macro _filled_field_expr(load, path, type, so_far) -%}
    {%- set names, held_by = [], [] -%}
    {%- for field in path -%}
        {%- do names.append(tidemark.quote_identifier(field)) -%}
        {%- do held_by.append(tidemark.string_literal(path[:loop.index] | join('.'))) -%}
    {%- endfor -%}
    {%- set value = names | join('.') -%}
    {%- set is_struct = tidemark._nested_kind(type) == 'struct' -%}
    {%- set missing = 'coalesce(arrays_overlap(_unsupplied, array(' ~ held_by | join(', ') ~ ')), false)' -%}
    {%- set given = "_tidemark_effect in ('upsert', 'base') and (not _tidemark_is_there or _source_operation <=> 'MOVE_IN' or not " ~ missing ~ ')' -%}
    {%- if load['fills'] -%}
        {%- set given = given ~ " or _tidemark_effect = 'fill' and _tidemark_is_there and not " ~ missing -%}
    {%- endif -%}
    {%- set last = 'last_value(if(' ~ given ~ ', struct(' ~ value ~ (' is not null' if is_struct else '') ~ ' as value), null), true) over (' ~ so_far ~ ').value' -%}
    {%- if not is_struct -%}{{ return(last) }}{%- endif -%}
    {%- set fields = [] -%}
    {%- for field in tidemark._struct_fields(type[type.index('<') + 1:-1]) -%}
        {%- do fields.append(tidemark.string_literal(field['name']) ~ ', ' ~ tidemark._filled_field_expr(load, path + [field['name']], field['type'], so_far)) -%}
    {%- endfor -%}
    {{ return('if(' ~ last ~ ', named_struct(\n    ' ~ fields | join(',\n    ') ~ '\n), null)') }}
{%- endmacro -%}

{#- Events by key: the arrival at a key, and for a change of the key also the departure from the old one. -#}
{%- macro _effects_sql(cfg, plan, staged, load) -%}
{%- set names = plan['columns'] | map(attribute='name') | list -%}
{%- set moved = "_tidemark_effect = 'upsert' and coalesce(_before_key_hash <> _key_hash, false)" -%}
select
    {{ tidemark.column_list_expr(names) }},
    _key_hash,
    _tidemark_effect,
    _unsupplied,
    {{ tidemark.place_expr(cfg, tidemark.sequence_expr(cfg), "if(_tidemark_effect = 'delete', 2, 1)", '_event_id', [load['batch_id'], '_sequence_num']) }} as _tidemark_order,
    cast(null as {{ load['order_type'] }}) as _tidemark_bound,
    {{ tidemark._meta_list(cfg, "case when _tidemark_effect = 'delete' then 'DELETE' when " ~ moved ~ " then 'MOVE_IN' when _source_operation = 'DELETE' then 'UPDATE' else _source_operation end", 'if(' ~ moved ~ ', _before_key_hash, null)') }}
from {{ staged }}
where _is_usable and _tidemark_effect in ('upsert', 'delete')
{%- if load['moves'] %}
union all
select
    {%- for column in plan['columns'] %}
    {{ tidemark.quote_identifier('_before_' ~ column['name']) if column['key'] else 'cast(null as ' ~ column['type'] ~ ')' }},
    {%- endfor %}
    _before_key_hash,
    'delete',
    cast(null as array<string>),
    {{ tidemark.place_expr(cfg, tidemark.sequence_expr(cfg), '2', '_event_id', [load['batch_id'], '_sequence_num']) }},
    cast(null as {{ load['order_type'] }}),
    {{ tidemark._meta_list(cfg, "'MOVE_OUT'") }}
from {{ staged }}
where _is_usable and {{ moved }} and not _tidemark_is_pair
{%- endif %}
{%- endmacro -%}

{#- What the log keeps of an event, beside its effect. -#}
{%- macro event_meta_columns(cfg) -%}
    {{ return(
        ['_source_operation', '_event_id', '_sequence_num'] + (['_sequence_by'] if cfg['sequence_by'] else [])
        + ['_event_time', '_transaction_id', '_offset', '_moved_from']
    ) }}
{%- endmacro -%}

{%- macro _meta_list(cfg, operation, moved_from='cast(null as string)') -%}
    {%- set terms = [] -%}
    {%- for name in tidemark.event_meta_columns(cfg) -%}
        {%- set given = {'_source_operation': operation, '_moved_from': moved_from}.get(name) -%}
        {%- do terms.append(given ~ ' as ' ~ name if given else name) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro -%}

{#- The type of place_expr(). -#}
{%- macro place_type(cfg, sequence_type) -%}
    {{ return('struct<sequence:' ~ (sequence_type or 'bigint') ~ ('' if cfg['on_tie'] == 'content' else ',batch:bigint,line:bigint') ~ ',tie:int,event:string>') }}
{%- endmacro -%}

{#- The derived rows as what is to be written: all of them, or, for late events, those that differ from the log's, with a mark
    (`_supersedes`) on each stored row that does not hold any more. -#}
{%- macro _log_difference_sql(cfg, plan, sources, load) -%}
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

{#- All that happened to the touched keys: their events, what stood before, and what concerned the whole table. -#}
{%- macro _timeline_of_keys_sql(cfg, plan, sources, load) -%}
{%- set meta = tidemark.event_meta_columns(cfg) -%}
{% if load['table_events'] -%}
touched_keys as (
    select distinct _key_hash from effects
    union
    select distinct _key_hash from {{ sources['existing'] }} where _key_hash is not null
),
{%- endif %}

timeline as (
    select * from effects
    union all
    select
        {{ tidemark.column_list_expr(plan['columns'] | map(attribute='name')) | indent(8) }},
        _key_hash,
        _tidemark_effect,
        _unsupplied,
        _tidemark_order,
        cast(null as {{ load['order_type'] }}) as _tidemark_bound,
        {{ tidemark.column_list_expr(meta) | indent(8) }}
    from {{ sources['existing'] }}
    {%- if load['late'] %}
    where _source_operation not in ('TRUNCATE', 'SNAPSHOT', 'ADD_COLUMN')
    {%- endif %}
    {%- if load['table_events'] %}
    union all
    select
        {%- for column in plan['columns'] %}
        table_events.{{ tidemark.quote_identifier(column['name']) }},
        {%- endfor %}
        touched_keys._key_hash,
        table_events._tidemark_effect,
        table_events._unsupplied,
        table_events._tidemark_order,
        table_events._tidemark_bound,
        {{ tidemark.column_list_expr(meta, 'table_events') | indent(8) }}
    from touched_keys
    cross join {{ sources['table_events'] }} as table_events
    where table_events._tidemark_effect <> 'none'
    {%- endif %}
),
{%- endmacro -%}

{#- Which departures are of a row that was pushed aside. -#}
{%- macro _settled_sql(load) -%}
{%- set whole, prior = tidemark._of_key(), tidemark._of_key('1 preceding') -%}
{% if load['moves'] -%}
{# A row that moves to a key whose row is still there pushes it aside; the next departure from that key in the same
    transaction is that row's, and the newcomer stays. -#}
pairs as (
    select
        *,
        _source_operation = 'MOVE_IN' and _tidemark_next.effect = 'delete' and _tidemark_next.transaction <=> _transaction_id as _tidemark_pair_in,
        _tidemark_effect = 'delete' and _tidemark_last.operation = 'MOVE_IN' and _tidemark_last.transaction <=> _transaction_id as _tidemark_pair_out
    from (
        select
            *,
            lead(struct(_tidemark_effect as effect, _transaction_id as transaction)) over ({{ whole }}) as _tidemark_next,
            lag(struct(_source_operation as operation, _transaction_id as transaction)) over ({{ whole }}) as _tidemark_last
        from arrived
    )
),

settled as (
    select
        * except (_tidemark_next, _tidemark_last, _tidemark_pair_in, _tidemark_pair_out, _tidemark_unpaired, _tidemark_bound_then),
        coalesce(
            _tidemark_pair_out and _tidemark_unpaired.is_row and not coalesce(_tidemark_bound_then > _tidemark_unpaired.position, false), false
        ) as _tidemark_is_other_row
    from (
        select
            *,
            last_value(
                if(
                    _tidemark_effect in ('upsert', 'delete', 'base') and not coalesce(_tidemark_pair_in, false) and not coalesce(_tidemark_pair_out, false),
                    struct(_tidemark_order as position, _tidemark_effect <> 'delete' as is_row),
                    null
                ), true
            ) over ({{ prior }}) as _tidemark_unpaired,
            last_value(_tidemark_bound, true) over ({{ prior }}) as _tidemark_bound_then
        from pairs
    )
),
{%- else -%}
settled as (
    select
        *,
        false as _tidemark_is_other_row
    from arrived
),
{%- endif %}
{%- endmacro -%}

{#- Rows with the values that their events did not bring: the last that were given since the row is there. -#}
{%- macro _filled_sql(cfg, plan, load) -%}
{%- set names = plan['columns'] | map(attribute='name') | list -%}
{%- set carried = names if load['fills'] else load['carried'] -%}
{%- set so_far = tidemark._of_key('current row') -%}
filled as (
    select
        {%- for column in plan['columns'] %}
        {%- set name = column['name'] %}
        {%- set quoted = tidemark.quote_identifier(name) %}
        {%- if tidemark.partial_paths(cfg, plan, column) %}
        if(
            _tidemark_effect in ('upsert', 'fill'),
            {{ tidemark._filled_field_expr(load, [name], column['type'], so_far) | indent(12) }},
            {{ quoted }}
        ) as {{ quoted }},
        {%- elif name in carried %}
        if(
            _tidemark_effect in ('upsert', 'fill'),
            last_value(
                if(
                    _tidemark_effect in ('upsert', 'base') and (not _tidemark_is_there or _source_operation <=> 'MOVE_IN' or not coalesce(array_contains(_unsupplied, {{ tidemark.string_literal(name) }}), false))
                    {%- if load['fills'] %}
                    or _tidemark_effect = 'fill' and _tidemark_is_there and not array_contains(_unsupplied, {{ tidemark.string_literal(name) }})
                    {%- endif %},
                    struct({{ quoted }} as value),
                    null
                ), true
            ) over ({{ so_far }}).value,
            {{ quoted }}
        ) as {{ quoted }},
        {%- else %}
        {{ quoted }},
        {%- endif %}
        {%- endfor %}
        * except ({{ tidemark.column_list_expr(names) | replace('\n    ', ' ') }})
    from lives
),
{%- endmacro -%}

{#- The rows that moved keys had where they left, for arrivals that do not bring every column. -#}
{%- macro _departed_rows_sql() -%}
{%- set whole = tidemark._of_key() -%}
departures as (
    select
        _key_hash,
        _tidemark_order,
        if(_tidemark_is_other_row, lag(_tidemark_before) over ({{ whole }}), _tidemark_before) as _image,
        _tidemark_effect
    from compared
)

select
    arrivals._event_id,
    arrivals._moved_from,
    max_by(departures._image, departures._tidemark_order) as _image
from compared as arrivals
inner join departures
    on arrivals._moved_from = departures._key_hash and departures._tidemark_order.sequence <= arrivals._tidemark_order.sequence
where
    arrivals._source_operation = 'MOVE_IN' and size(arrivals._unsupplied) > 0
    and departures._tidemark_effect = 'delete'
group by arrivals._event_id, arrivals._moved_from
{%- endmacro -%}

{#- The events of a key in their order, or the window up to one of them: `end`. -#}
{%- macro _of_key(end=none) -%}
    {{ return('partition by _key_hash order by _tidemark_order asc nulls first' ~ (' rows between unbounded preceding and ' ~ end if end else '')) }}
{%- endmacro -%}

{#- Events as rows of the log, with their effect; what has none, such as a fill of a row that is not there, is left out. -#}
{%- macro _derived_rows_sql(cfg, plan, load) -%}
derived as (
    select
        {%- for column in plan['columns'] %}
        {%- set quoted = tidemark.quote_identifier(column['name']) %}
        if(_tidemark_operation = 'D', _tidemark_before.{{ quoted }}, {{ quoted }}) as {{ quoted }},
        {%- endfor %}
        _key_hash,
        case
            when _tidemark_operation = 'D' then _tidemark_before._row_hash
            when _tidemark_effect in ('upsert', 'fill') then _row_hash
        end as _row_hash,
        _tidemark_operation as _operation,
        {%- if cfg['changed_columns'] %}
        case
            when _tidemark_operation = 'U'
                then {{ tidemark.changed_columns_expr(plan['compared'], '_tidemark_before', 'compared') | indent(16) }}
        end as _changed_columns,
        {%- else %}
        cast(null as array<string>) as _changed_columns,
        {%- endif %}
        _unsupplied,
        {%- if load['late'] %}
        _tidemark_order,
        {%- endif %}
        {{ tidemark.column_list_expr(tidemark.event_meta_columns(cfg)) | indent(8) }}
    from (
        select
            *,
            case
                when _tidemark_is_other_row then 'N'
                when _tidemark_effect = 'upsert' and not _tidemark_is_there then 'I'
                when _tidemark_effect in ('upsert', 'fill') and _tidemark_is_there
                    then if(_tidemark_before._row_hash = _row_hash, if(_tidemark_effect = 'upsert', 'N', null), 'U')
                when _tidemark_effect = 'delete' then if(_tidemark_is_there, 'D', 'N')
                when _tidemark_effect = 'close' and _tidemark_is_there and _tidemark_bound > _tidemark_last.position then 'D'
            end as _tidemark_operation
        from compared
    ) as compared
    where _tidemark_operation is not null
)
{%- endmacro -%}
