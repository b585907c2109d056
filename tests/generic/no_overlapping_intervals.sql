{#- Intervals of a table of scd2 intervals that are empty, reversed or without start, or that begin before the one before them ends. With both
    `axes` that is asked of the intervals that were known at each moment, and each must have been known at one. -#}
{% test no_overlapping_intervals(model, keys=['_key_hash'], valid_from='_valid_from', valid_to='_valid_to', open_end=none, axes=none) %}

{%- set is_bitemporal = tidemark.axes_of(axes) | length > 1 -%}
{%- set model, keys = tidemark.intervals_at_moments(model, keys, axes) -%}
with intervals as (
    select
        {{ tidemark.column_list_expr(keys) }},
        _valid_from,
        _valid_to,
        {%- if is_bitemporal %}
        _known_from,
        _known_to,
        {%- endif %}
        lead(_valid_from) over (
            partition by {{ tidemark.column_list_expr(keys) | replace('\n', ' ') }}
            order by _valid_from asc nulls first, _valid_to asc nulls last
        ) as next_valid_from
    from (
        select
            {{ tidemark.column_list_expr(keys) | indent(8) }},
            {{ tidemark.quote_identifier(valid_from) }} as _valid_from,
            {{ tidemark.closed_end_expr(valid_to, open_end) }} as _valid_to
            {%- if is_bitemporal %},
            _known_from,
            _known_to
            {%- endif %}
        from {{ model }}
    )
),

judged as (
    select
        *,
        case
            {%- if is_bitemporal %}
            when _known_from is null then 'known since no commit'
            when _known_to <= _known_from then 'known at no moment'
            {%- endif %}
            when _valid_from is null then 'no start'
            when _valid_to = _valid_from then 'empty'
            when _valid_to < _valid_from then 'reversed'
            when next_valid_from < _valid_to then 'overlaps the next'
            when _valid_to is null and next_valid_from is not null then 'open, but another one follows'
        end as problem
    from intervals
)

select * from judged
where problem is not null

{% endtest %}
