{#- The intervals of both axes, rectangles, from the intervals in each span of commits: those of one row with
    the same bounds in spans that follow each other are one. `_is_current`: it holds now, as is known now.

        known from commit      7         9              a was loaded at 7, b at 9
        date 1                 a ─────── a ──────►
        date 2                 a         b ──────►      so a is [1, open) from 7 to 9, and [1, 2) from 9 on
-#}
{%- macro known_intervals_sql(intervals, options) -%}
{%- set names = {} -%}
{%- for name, shown in options['names'].items() -%}
    {%- do names.update({name: tidemark.quote_identifier(shown)}) -%}
{%- endfor -%}
{%- set within = '(partition by _key_hash, _tidemark_row, ' ~ names['valid_from'] ~ ', ' ~ names['valid_to']
    ~ ' order by _tidemark_known_from asc nulls last)' -%}
select
    * except ({{ names['is_current'] }}, _tidemark_row, _tidemark_known_from, _tidemark_known_to,
        _tidemark_is_first, _tidemark_is_last),
    _tidemark_known_from as _known_from,
    _tidemark_known_to as _known_to,
    {{ names['is_current'] }} and _tidemark_known_to is null as {{ names['is_current'] }}
from (
    select
        * except (_tidemark_known_to),
        if(_tidemark_is_last, _tidemark_known_to,
            lead(_tidemark_known_to) over {{ within }}) as _tidemark_known_to
    from (
        select
            *,
            not coalesce(lag(_tidemark_known_to) over {{ within }} = _tidemark_known_from,
                false) as _tidemark_is_first,
            not coalesce(lead(_tidemark_known_from) over {{ within }} = _tidemark_known_to,
                false) as _tidemark_is_last
        from (
            {{ intervals | indent(12) }}
        )
    )
    where _tidemark_is_first or _tidemark_is_last
)
where _tidemark_is_first
{%- endmacro -%}

{#- The intervals of dates in a span of commits, from log rows with `_valid_to` as it is at the span's end and
    `_tidemark_closed_by`, the commit of the row that closes them: up to that commit an interval was open. -#}
{%- macro closed_in_span_sql(rows) -%}
select
    * except (_valid_to, _tidemark_known_from, _tidemark_known_to, _tidemark_closed_by, _tidemark_is_open),
    if(_tidemark_is_open, null, _valid_to) as _valid_to,
    if(_tidemark_is_open, _tidemark_known_from,
        greatest(_tidemark_known_from, _tidemark_closed_by)) as _tidemark_known_from,
    if(_tidemark_is_open, _tidemark_closed_by, _tidemark_known_to) as _tidemark_known_to
from (
    select
        * except (_tidemark_known_from),
        greatest(_tidemark_known_from, _commit_id) as _tidemark_known_from,
        explode(array(true, false)) as _tidemark_is_open
    from (
        {{ rows | indent(8) }}
    )
)
where not _tidemark_is_open or _tidemark_closed_by > _tidemark_known_from
{%- endmacro -%}
