{#- The rows of an entity as they stood at the end of a business date: current, travelled back. With
    `known_at` as it was known when that commit was the last, that is, before later corrections. -#}
{%- macro as_of(relation, date, known_at=none, by=none) -%}
{%- do tidemark._check_entity_relation(relation, 'as_of') -%}
{%- set flow = tidemark.flow_of(relation) -%}
{%- do tidemark._check_by(relation, flow, by, 'as_of') -%}
{%- if execute and not date and date != 0 -%}
    {%- do tidemark.raise_error('usage', "as_of needs a date such as '2026-03-04', found: '" ~ date ~ "'") -%}
{%- endif -%}
{%- set is_events = flow['flow'] == 'events' -%}
{%- set known = tidemark.in_force_expr(tidemark._known_at(relation, known_at, 'as_of')) -%}
{%- set until = tidemark._until_expr(relation, date, flow, by) if execute else 'true' -%}
{%- set hidden = '_business_date, _changed_columns, _commit_id, _superseded_by, _tidemark_rank'
    ~ (', _batch_id, _source_operation, _event_id, _transaction_id, _offset, _unsupplied, _moved_from'
        if is_events else '') -%}
{%- set with_unchanged = is_events and tidemark.reads_unchanged(flow, by or 'business_date') -%}
{{ tidemark.as_of_rows_sql(flow, tidemark.log(relation), known ~ ' and ' ~ until, with_unchanged, hidden) }}
{%- endmacro -%}

{#- The newest row of each key of a log among those that a condition keeps, unless it was deleted. -#}
{%- macro as_of_rows_sql(flow, log_relation, condition, with_unchanged=false, hidden='_tidemark_rank') -%}
{%- if with_unchanged -%}
{{ tidemark.as_of_events_sql(flow, log_relation, condition, hidden) }}
{%- else -%}
select
    * except ({{ hidden }})
from (
    select
        *,
        row_number() over (partition by _key_hash
            order by {{ tidemark.log_order_expr(flow) }} desc nulls last) as _tidemark_rank
    from {{ log_relation }}
    where
        {{ condition }}
        {%- if flow['flow'] == 'events' %}
        and _operation in ('I', 'U', 'D')
        {%- endif %}
)
where _tidemark_rank = 1 and _operation <> 'D'
{%- endif -%}
{%- endmacro -%}

{#- The same of change events in another order than that of their sequence: what a key's last event left of
    those that had come by then, also if it changed nothing where all are known. The row is that of the last
    change, unless that had other values. -#}
{%- macro as_of_events_sql(flow, log_relation, condition, hidden) -%}
{%- set order = tidemark.event_order_expr(flow) -%}
{%- set whole = '(partition by _key_hash order by _tidemark_rank asc nulls last rows between unbounded '
    ~ 'preceding and unbounded following)' -%}
select
    * except ({{ hidden }}, _tidemark_said, _tidemark_top, _tidemark_change)
from (
    select
        *,
        last_value(_tidemark_said) over {{ whole }} as _tidemark_top,
        last_value(if(_operation = 'N', null, _tidemark_said), true) over {{ whole }} as _tidemark_change
    from (
        select
            *,
            struct(_tidemark_rank as place, _row_hash as hash, _operation = 'D' as is_gone) as _tidemark_said
        from (
            select
                *,
                row_number() over (partition by _key_hash
                    order by {{ order | indent(16) }} asc nulls first) as _tidemark_rank
            from (
                {{ tidemark.events_with_effect_sql(log_relation, condition, order) | indent(16) }}
            )
        )
    )
)
where
    not _tidemark_top.is_gone
    and _tidemark_top.hash is not null
    and _tidemark_rank = if(
        not _tidemark_change.is_gone and _tidemark_change.hash = _tidemark_top.hash, _tidemark_change.place,
            _tidemark_top.place
    )
{%- endmacro -%}

{#- The changes up to a moment, which is included. Those without a time of their source have held since ever,
    as in scd2(). -#}
{%- macro _until_expr(relation, date, flow, by) -%}
    {%- if by == 'event_time' -%}
        {%- set moment = tidemark.moment_of(date, 'tidemark.as_of: date')
            if modules.re.match('[0-9]{4}-[0-9]{2}-[0-9]{2}', date | string | trim) else none -%}
        {%- if not moment -%}
            {%- do tidemark.raise_error('usage',
                "tidemark.as_of: by event_time needs a moment of the source, such as '2026-03-04 12:00:00', "
                ~ "found: '" ~ date ~ "'") -%}
        {%- endif -%}
        {{ return("coalesce(_event_time <= timestamp'" ~ moment['value'] ~ "', true)") }}
    {%- elif by == 'sequence' -%}
        {%- do tidemark.check_sequence(relation, date, flow) -%}
        {{ return('coalesce(' ~ tidemark.event_moment_expr(flow, 'sequence') ~ ' <= '
            ~ (date if date is number else tidemark.string_literal(date)) ~ ', true)') }}
    {%- endif -%}
    {{ return("_business_date <= date'" ~ tidemark._business_date(date, 'tidemark.as_of: date') ~ "'") }}
{%- endmacro -%}
