{#-
    The intervals of an events entity. In the order of `by`, a change that an earlier one has overtaken in the sequence
    is left out, of several at one moment the last counts, and equal rows next to each other are one version.
-#}
{%- macro event_intervals_sql(flow, log_relation, in_force, by) -%}
{%- set order = tidemark.event_order_expr(flow) -%}
{%- set within = 'partition by _key_hash order by _tidemark_time asc nulls first, _tidemark_order asc nulls first' -%}
with changes as (
    select
        *,
        {{ tidemark.event_moment_expr(flow, by) }} as _tidemark_time,
        {{ order }} as _tidemark_order
    from {{ log_relation }}
    where {{ in_force }} and _operation in ('I', 'U', 'D')
),

in_time as (
    select
        *,
        lead(_tidemark_time) over ({{ within }}) as _tidemark_next_time
    from (
        select
            *,
            max(_tidemark_order) over ({{ within }} rows between unbounded preceding and current row) as _tidemark_greatest
        from changes
    )
    where _tidemark_order = _tidemark_greatest
),

versions as (
    select
        *,
        count_if(_tidemark_is_new) over ({{ within }} rows between unbounded preceding and current row) as _tidemark_version
    from (
        select
            *,
            not coalesce(
                _operation <> 'D' and lag(_operation) over ({{ within }}) <> 'D' and {{ tidemark._same_version_expr(flow, within) }}, false
            ) as _tidemark_is_new
        from in_time
        where _tidemark_next_time is null or _tidemark_next_time <> _tidemark_time
    )
),

last_rows as (
    select
        *,
        min(_tidemark_time) over (partition by _key_hash, _tidemark_version) as _valid_from,
        row_number() over (partition by _key_hash, _tidemark_version order by _tidemark_order desc nulls last) as _tidemark_rank
    from versions
)

select
    * except (
        _operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _batch_id, _source_operation, _event_id,
        _transaction_id, _offset, _unsupplied, _moved_from, _valid_from, _valid_to, _tidemark_time, _tidemark_order,
        _tidemark_greatest, _tidemark_next_time, _tidemark_is_new, _tidemark_version, _tidemark_rank
    ),
    _valid_from,
    _valid_to,
    _valid_to is null as _is_current
from (
    select
        *,
        lead(_valid_from) over (partition by _key_hash order by _tidemark_version asc nulls first) as _valid_to
    from last_rows
    where _tidemark_rank = 1
)
where _operation <> 'D'
{%- endmacro -%}


{#- The moment of a change: what `_valid_from` and `_valid_to` are. -#}
{%- macro event_moment_expr(flow, by) -%}
    {%- if by == 'sequence' -%}
        {%- if flow['sequence_by'] | length > 1 -%}
            {%- set fields = [] -%}
            {%- for expression in flow['sequence_by'] -%}
                {%- do fields.append('_sequence_by.sequence_' ~ loop.index) -%}
            {%- endfor -%}
            {{ return('struct(' ~ fields | join(', ') ~ ')') }}
        {%- endif -%}
        {{ return('_sequence_by.sequence_1' if flow['sequence_by'] else '_sequence_num') }}
    {%- endif -%}
    {{ return({'event_time': '_event_time', 'business_date': '_business_date'}[by]) }}
{%- endmacro -%}


{#- Whether a row is the same version as the one before it: all compared columns agree, or, with track_history, the tracked ones. -#}
{%- macro _same_version_expr(flow, within) -%}
    {%- set tracked = flow['tracked'] or {'all': true, 'exclude': []} -%}
    {%- if tracked['all'] and not tracked['exclude'] -%}
        {{ return('lag(_row_hash) over (' ~ within ~ ') = _row_hash') }}
    {%- endif -%}
    {%- if tracked['all'] -%}
        {%- set values = '_changed_columns' -%}
        {%- set excluded = [] -%}
        {%- for name in tracked['exclude'] -%}{%- do excluded.append(tidemark.string_literal(name)) -%}{%- endfor -%}
        {{ return('size(array_except(transform(_changed_columns, name -> lower(name)), array(' ~ excluded | join(', ') ~ '))) = 0') }}
    {%- endif -%}
    {%- set included = [] -%}
    {%- for name in tracked['include'] -%}{%- do included.append(tidemark.string_literal(name)) -%}{%- endfor -%}
    {{ return("not arrays_overlap(transform(_changed_columns, name -> lower(name)), array(" ~ included | join(', ') ~ '))') }}
{%- endmacro -%}
