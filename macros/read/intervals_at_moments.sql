{#- Intervals, and what tells a key, so that what is asked of one axis is asked of both: with both `axes` each
    interval stands at every moment at which another one of its key began to be known, and the moment is a
    part of the key. One that is known at no moment is shown once. -#}
{%- macro intervals_at_moments(intervals, keys, axes) -%}
    {%- set keys = [keys] if keys is string else keys -%}
    {%- if tidemark.axes_of(axes) | length < 2 -%}{{ return([intervals, keys]) }}{%- endif -%}
    {%- set quoted = [] -%}
    {%- for key in keys -%}{%- do quoted.append(tidemark.quote_identifier(key)) -%}{%- endfor -%}
    {%- set rows -%}
(
    select
        known.*,
        moments._tidemark_moment
    from {{ intervals }} as known
    inner join (
        select distinct
            {{ tidemark.column_list_expr(keys) | indent(12) }},
            _known_from as _tidemark_moment
        from {{ intervals }}
    ) as moments
        on
            {{ tidemark.same_row_expr(quoted, 'known', 'moments', '<=>') | indent(12) }}
            and (
                known._known_from <=> moments._tidemark_moment
                or known._known_from < moments._tidemark_moment
                and (known._known_to is null or known._known_to > moments._tidemark_moment)
            )
)
    {%- endset -%}
    {{ return([rows, keys + ['_tidemark_moment']]) }}
{%- endmacro -%}
