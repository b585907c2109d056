{#- All that happened to the touched keys: their events, what stood before, and what concerned the whole
    table. -#}
{%- macro timeline_of_keys_sql(cfg, roles, sources, load) -%}
{%- set meta, tells_gone = tidemark.event_meta_columns(cfg), tidemark._tells_gone(roles) -%}
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
        {{ tidemark.column_list_expr(roles['columns'] | map(attribute='name')) | indent(8) }},
        _key_hash,
        _tidemark_effect,
        _unsupplied,
        _tidemark_order,
        cast(null as {{ load['order_type'] }}) as _tidemark_bound,
        {%- if tells_gone %}
        _changes_gone as _tidemark_changes_gone,
        {%- endif %}
        {{ tidemark.column_list_expr(meta) | indent(8) }}
    from {{ tidemark._with_kept_sql(cfg, roles, sources['existing']) | indent(4) if tells_gone
        else sources['existing'] }}
    {%- if load['late'] %}
    where _source_operation not in ('TRUNCATE', 'SNAPSHOT', 'ADD_COLUMN')
    {%- endif %}
    {%- if load['table_events'] %}
    union all
    select
        {%- for column in roles['columns'] %}
        table_events.{{ tidemark.quote_identifier(column['name']) }},
        {%- endfor %}
        touched_keys._key_hash,
        table_events._tidemark_effect,
        table_events._unsupplied,
        table_events._tidemark_order,
        table_events._tidemark_bound,
        {%- if tells_gone %}
        false as _tidemark_changes_gone,
        {%- endif %}
        {{ tidemark.column_list_expr(meta, 'table_events') | indent(8) }}
    from touched_keys
    cross join {{ sources['table_events'] }} as table_events
    where table_events._tidemark_effect <> 'none'
    {%- endif %}
),
{%- endmacro -%}

{#- Whether events tell that they changed columns that are gone: such a row is stored, also where nothing else
    in it is compared and differs. Nobody asks this of rows that are wholly compared. -#}
{%- macro _tells_gone(roles) -%}{{ return(tidemark.heals(roles)
    and roles['ignored'] | length > 0) }}{%- endmacro -%}

{#- Events by key: the arrival at a key, and for a change of the key also the departure from the old one. -#}
{%- macro _effects_sql(cfg, roles, staged, load) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set moved = "_tidemark_effect = 'upsert' and coalesce(_before_key_hash <> _key_hash, false)" -%}
select
    {{ tidemark.column_list_expr(names) }},
    _key_hash,
    _tidemark_effect,
    _unsupplied,
    {{ tidemark.place_expr(cfg, tidemark.sequence_expr(cfg), "if(_tidemark_effect = 'delete', 2, 1)",
        '_event_id', [load['batch_id'], '_sequence_num']) }} as _tidemark_order,
    cast(null as {{ load['order_type'] }}) as _tidemark_bound,
    {%- if tidemark._tells_gone(roles) %}
    false as _tidemark_changes_gone,
    {%- endif %}
    {{ tidemark._meta_list(cfg,
        "case when _tidemark_effect = 'delete' then 'DELETE' when " ~ moved
        ~ " then 'MOVE_IN' when _source_operation = 'DELETE' then 'UPDATE' else _source_operation end",
        'if(' ~ moved ~ ', _before_key_hash, null)') }}
from {{ staged }}
where _is_usable and _tidemark_effect in ('upsert', 'delete')
{%- if load['moves'] %}
union all
select
    {%- for column in roles['columns'] %}
    {{ tidemark.quote_identifier('_before_' ~ column['name']) if column['key']
        else 'cast(null as ' ~ column['type'] ~ ')' }},
    {%- endfor %}
    _before_key_hash,
    'delete',
    cast(null as array<string>),
    {{ tidemark.place_expr(cfg, tidemark.sequence_expr(cfg), '2', '_event_id',
        [load['batch_id'], '_sequence_num']) }},
    cast(null as {{ load['order_type'] }}),
    {%- if tidemark._tells_gone(roles) %}
    false,
    {%- endif %}
    {{ tidemark._meta_list(cfg, "'MOVE_OUT'") }}
from {{ staged }}
where _is_usable and {{ moved }} and not _tidemark_is_pair
{%- endif %}
{%- endmacro -%}

{#- Which departures are of a row that was pushed aside. -#}
{%- macro _settled_sql(load) -%}
{%- set whole, prior = tidemark._of_key(), tidemark._of_key('1 preceding') -%}
{% if load['moves'] -%}
{# A row that moves to a key whose row is still there pushes it aside; the next departure from that key in the
    same transaction is that row's, and the newcomer stays. -#}
pairs as (
    select
        *,
        _source_operation = 'MOVE_IN' and _tidemark_next.effect = 'delete'
            and _tidemark_next.transaction <=> _transaction_id as _tidemark_pair_in,
        _tidemark_effect = 'delete' and _tidemark_last.operation = 'MOVE_IN'
            and _tidemark_last.transaction <=> _transaction_id as _tidemark_pair_out
    from (
        select
            *,
            lead(struct(_tidemark_effect as effect, _transaction_id as transaction))
                over ({{ whole }}) as _tidemark_next,
            lag(struct(_source_operation as operation, _transaction_id as transaction))
                over ({{ whole }}) as _tidemark_last
        from arrived
    )
),

settled as (
    select
        * except (_tidemark_next, _tidemark_last, _tidemark_pair_in, _tidemark_pair_out, _tidemark_unpaired,
            _tidemark_bound_then),
        coalesce(
            _tidemark_pair_out and _tidemark_unpaired.is_row
                and not coalesce(_tidemark_bound_then > _tidemark_unpaired.position, false), false
        ) as _tidemark_is_other_row
    from (
        select
            *,
            last_value(
                if(
                    _tidemark_effect in ('upsert', 'delete', 'base')
                        and not coalesce(_tidemark_pair_in, false)
                            and not coalesce(_tidemark_pair_out, false),
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
    on arrivals._moved_from = departures._key_hash
        and departures._tidemark_order.sequence <= arrivals._tidemark_order.sequence
where
    arrivals._source_operation = 'MOVE_IN'
        and size(coalesce(arrivals._unsupplied, cast(array() as array<string>))) > 0
    and departures._tidemark_effect = 'delete'
group by arrivals._event_id, arrivals._moved_from
{%- endmacro -%}
