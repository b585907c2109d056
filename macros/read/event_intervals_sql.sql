{#- The intervals of an events entity. In the order of `by`, a change that an earlier one has overtaken in the
    sequence is left out, of several at one moment the last counts, and rows next to each other that agree in
    the tracked columns are one version. What agrees is told by the values of the rows that are left, compared
    as rows are hashed. In another order than that of the sequence an event that changed nothing there (N) may
    be what changed the row. `options` are those of interval_options(). -#}
{%- macro event_intervals_sql(flow, log_relation, in_force, by, options=none) -%}
{%- set options = options or tidemark.interval_options() -%}
{%- set order = tidemark.event_order_expr(flow) -%}
{%- set per = options['per'] -%}
{%- set within = 'partition by ' ~ per
    ~ ' order by _tidemark_time asc nulls first, _tidemark_order asc nulls first' -%}
{%- set tracked = flow['tracked'] -%}
{%- set apart = (tracked or []) | selectattr('sensitive') | map(attribute='name') | list -%}
{%- set unmoved = tidemark.reads_unchanged(flow, by) -%}
{%- set source = tidemark._tracked_log_sql(flow, log_relation, apart) if apart else log_relation -%}
{%- if options['is_bitemporal'] -%}
    {%- set source = tidemark.known_log_sql(source,
        tidemark.sensitive_key({'flow': 'events'}) + ['_source_operation']) -%}
    {%- set in_force = 'true' -%}
{%- endif -%}
with changes as (
    select
        *,
        {{ tidemark.event_moment_expr(flow, by) }} as _tidemark_time,
        {{ order }} as _tidemark_order,
        {{ '_row_hash' if tracked is none
            else tidemark.row_hash_expr(tidemark._nullable(tracked), flow['hash'])
                | indent(8) }} as _tidemark_tracked
    from {{ tidemark.effects_of_events_sql(source, in_force, order, per) | indent(4) if unmoved else source }}
    where {{ in_force }} and _operation in ('I', 'U', 'D')
),

in_time as (
    select
        *,
        lead(struct(_tidemark_time)) over ({{ within }}) <=> struct(_tidemark_time) as _tidemark_is_followed
    from (
        select
            *,
            max(_tidemark_order)
                over ({{ within }} rows between unbounded preceding and current row) as _tidemark_greatest
        from changes
    )
    where _tidemark_order = _tidemark_greatest
),

versions as (
    select
        *,
        count_if(_tidemark_is_new)
            over ({{ within }} rows between unbounded preceding and current row) as _tidemark_version
    from (
        select
            *,
            not coalesce(
                (_operation = 'D') = (lag(_operation) over ({{ within }}) = 'D')
                and (_operation = 'D' or lag(_tidemark_tracked) over ({{ within }}) = _tidemark_tracked),
                    false
            ) as _tidemark_is_new
        from in_time
        where not _tidemark_is_followed
    )
),

last_rows as (
    select
        *,
        if(
            bool_or(_tidemark_time is null) over (partition by {{ per }}, _tidemark_version),
            null,
            min(_tidemark_time) over (partition by {{ per }}, _tidemark_version)
        ) as _valid_from,
        row_number() over (
            partition by {{ per }}, _tidemark_version
            order by {{ '_tidemark_is_same asc nulls last, ' if unmoved
                and tracked is none }}_tidemark_order desc nulls last
        ) as _tidemark_rank
    from versions
)

select
    * except (
        _operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _batch_id,
            _source_operation, _event_id,
        _transaction_id, _offset, _unsupplied, _moved_from, _valid_from, _valid_to, _tidemark_time,
            _tidemark_order,
        _tidemark_tracked, _tidemark_greatest, _tidemark_is_followed, _tidemark_is_new, _tidemark_version,
            _tidemark_rank
        {%- if unmoved %}, _tidemark_is_same{% endif %}
        {%- for name in apart %}, {{ tidemark.quote_identifier(name) }}{% endfor %}
    ),
    {{ tidemark.interval_columns_expr(options) }}
from (
    select
        *,
        lead(_valid_from) over (partition by {{ per }}
            order by _tidemark_version asc nulls first) as _valid_to
    from last_rows
    where _tidemark_rank = 1
)
{%- if not options['deletes'] %}
where _operation <> 'D'
{%- elif unmoved %}
where not (_operation = 'D' and _tidemark_is_same and _tidemark_version = 1)
{%- endif %}
{%- endmacro -%}

{#- Whether events that changed nothing in the order of the sequence are looked at: in another order they may
    have. Copies of a table without key are counted, not followed. -#}
{%- macro reads_unchanged(flow, by) -%}
    {{ return(by != 'sequence' and not flow.get('has_copies', false)) }}
{%- endmacro -%}

{#- The rows of a log in force, with what an event says that changed nothing in the order of the sequence
    (`_tidemark_is_same`) as U or D, by itself: it left a row, which has a hash, or none. -#}
{%- macro effects_of_events_sql(source, in_force, order, per='_key_hash') -%}
(
    select
        * except (_operation),
        if(_operation = 'N', if(_row_hash is null, 'D', 'U'), _operation) as _operation,
        _operation = 'N' as _tidemark_is_same
    from (
        {{ tidemark.events_with_effect_sql(source, in_force, order, per) | indent(8) }}
    )
)
{%- endmacro -%}

{#- The rows of a log that say what became of their key, also those that changed nothing in the order of the
    sequence (N). Not a departure that changed nothing right after an arrival, which is that of the row that
    was pushed aside: the newcomer stays. -#}
{%- macro events_with_effect_sql(source, condition, order, per='_key_hash') -%}
select * except (_tidemark_before_it)
from (
    select
        *,
        lag(_source_operation)
            over (partition by {{ per }}
                order by {{ order | indent(8) }} asc nulls first) as _tidemark_before_it
    from {{ source | string | indent(4) }}
    where {{ condition }} and _operation in ('I', 'U', 'D', 'N') and _key_hash is not null
)
where not (_operation = 'N' and _row_hash is null and coalesce(_tidemark_before_it = 'MOVE_IN', false))
{%- endmacro -%}

{#- The moment of a change: what `_valid_from` and `_valid_to` are. -#}
{%- macro event_moment_expr(flow, by) -%}
    {%- if by == 'sequence' -%}
        {%- if flow['sequence_by'] | length > 1 -%}
            {%- set fields = [] -%}
            {%- for expression in flow['sequence_by'] -%}{%- do fields.append('_sequence_by.sequence_'
                ~ loop.index) -%}{%- endfor -%}
            {{ return('struct(' ~ fields | join(', ') ~ ')') }}
        {%- endif -%}
        {{ return('_sequence_by.sequence_1' if flow['sequence_by'] else '_sequence_num') }}
    {%- endif -%}
    {{ return({'event_time': '_event_time', 'business_date': '_business_date'}[by]) }}
{%- endmacro -%}

{#- The log with the tracked columns that are kept apart. Each log row has at most one row there, written by
    the same commit. -#}
{%- macro _tracked_log_sql(flow, log_relation, apart) -%}
(
    select
        log.*,
        {{ tidemark.column_list_expr(apart, 'sensitive') | indent(4) }}
    from {{ log_relation }} as log
    left join {{ flow['sensitive'] }} as sensitive
        on
            {{ tidemark.same_row_expr(tidemark.sensitive_key({'flow': 'events'}), 'log',
                'sensitive') | indent(12) }}
)
{%- endmacro -%}
