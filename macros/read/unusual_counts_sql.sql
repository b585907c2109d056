{#- What is not usual in `loads`, each load of a relation judged by those before it. The rule is told, and
    proved, in python/tests/usual.py: a count is compared with the median of its weekday, and how far it is
    from there with how far the loads before it were. `options`: see the test change_counts_are_usual. -#}
{%- macro unusual_counts_sql(loads, options) -%}
with days as (
    select
        *,
        coalesce(
            datediff(business_date,
                lag(business_date, 5)
                    over (partition by relation order by business_date asc nulls last)) > 14,
            false
        ) as is_sparse,
        -- from Friday on the next working day is Monday
        month(date_add(business_date,
            if(weekday(business_date) < 4, 1, 7 - weekday(business_date)))) as next_month
    from ({{ loads }})
    {%- if options['except'] %}
    where business_date not in ({{ tidemark.date_list_expr(options['except']) }})
    {%- endif %}
),

counts as (
    select
        relation,
        business_date,
        commit_id,
        if(is_sparse, -1, weekday(business_date)) as kind_of_day,
        not is_sparse and next_month <> month(business_date) as ends_month,
        stack(
            {{ options['counts'] | length }}
            {%- for what in options['counts'] %},
            '{{ what }}', coalesce(rows_{{ what }}, 0)
            {%- endfor %}
        ) as (what, number)
    from days
),

{{ tidemark._drifts_sql() }}

beyond as (
    select
        *,
        case
            when not ends_month then distance - drift
            -- usual is all from an ordinary day's to what the last ones had
            when size(month_ends) >= 3
                then distance - greatest(
                    least(drift, array_min(month_ends)),
                        least(distance, greatest(drift, array_max(month_ends)))
                )
        end as beyond,
        sort_array(transform(others, one -> abs(one - drift))) as scatter,
        greatest(0, expm1(usual + drift)) as usual_number
    from drifts
),

judged as (
    select
        relation,
        business_date,
        commit_id,
        what,
        number,
        cast(round(usual_number) as bigint) as usual_number,
        if(beyond > 0, 'too many', 'too few') as problem,
        size(others) >= 20
        and abs(beyond) > greatest(
            6 * 1.4826 * {{ tidemark.sorted_median_expr('scatter') }},
            1.25 * if(beyond > 0, get(others, size(others) - 2) - drift, drift - get(others, 1)),
            ln({{ options['min_factor'] }})
        )
        and abs(sqrt(number) - sqrt(usual_number)) > 3
        and abs(number - usual_number) >= {{ options['min_rows'] }} as is_unusual,
        -- a window keeps Spark from moving the condition below, where it would work out all of this for each
        -- part of it
        count(*) over (partition by relation, what) as judged_loads
    from beyond
)

select * except (is_unusual, judged_loads)
from judged
where
    is_unusual
    and judged_loads > 0
    and (problem = 'too many' or what not in ({{ "'inserted', 'updated', 'deleted', 'rejected'"
        if options['of_events'] else "'rejected'" }}))
{%- endmacro -%}

{#- What each business date of a relation changed: of extracts as its last load counted it, of change events
    the sum of all. A full refresh is no load as others are. -#}
{%- macro counted_loads_sql(commits, relation, of_events) -%}
select
    relation,
    business_date,
    max(commit_id) as commit_id,
    {%- for what in ['inserted', 'updated', 'deleted', 'rejected'] %}
    {{ 'sum(rows_' ~ what ~ ')' if of_events
        else 'max_by(rows_' ~ what ~ ', commit_id)' }} as rows_{{ what }}{{ '' if loop.last else ',' }}
    {%- endfor %}
from {{ commits }}
where
    relation = {{ tidemark.string_literal(relation) }}
    and state = 'completed' and kind = 'load' and business_date is not null
group by relation, business_date
{%- endmacro -%}

{#- The median of an array that is sorted and has something in it. -#}
{%- macro sorted_median_expr(name) -%}
    {{ return('(get(' ~ name ~ ', int((size(' ~ name ~ ') - 1) / 2)) + get(' ~ name ~ ', int(size(' ~ name
        ~ ') / 2))) / 2') }}
{%- endmacro -%}

{#- What unusual_counts_sql() takes, of the arguments of the test change_counts_are_usual. -#}
{%- macro count_options(counts, min_rows, min_factor, except_dates, of_events) -%}
    {%- set errors = [] -%}
    {%- set chosen = [counts] if counts is string else counts -%}
    {%- set known = ['inserted', 'updated', 'deleted', 'rejected'] -%}
    {%- for what in chosen if what not in known -%}
        {%- set hint = tidemark._did_you_mean(what, known) -%}
        {%- do errors.append('counts must be one of ' ~ known | join(', ') ~ ' (found: ' ~ what ~ ')'
            ~ (hint if 'did you' in hint else '')) -%}
    {%- endfor -%}
    {%- if not chosen -%}{%- do errors.append('counts must name what is judged') -%}{%- endif -%}
    {%- if min_rows is not number or min_rows < 0 -%}
        {%- do errors.append('min_rows must be a number from 0 on, found: ' ~ min_rows) -%}
    {%- endif -%}
    {%- if min_factor is not number or min_factor < 1 -%}
        {%- do errors.append('min_factor must be a number from 1 on, found: ' ~ min_factor) -%}
    {%- endif -%}
    {%- if errors -%}{%- do tidemark.raise_error('configuration',
        'change_counts_are_usual: ' ~ errors | join('; ')) -%}{%- endif -%}
    {{ return({
        'counts': chosen,
        'min_rows': min_rows,
        'min_factor': min_factor,
        'except': tidemark.date_list(except_dates, 'change_counts_are_usual: except'),
        'of_events': of_events,
    }) }}
{%- endmacro -%}

{#- How far each count is from its weekday's median, beside how far the counts before it were. -#}
{%- macro _drifts_sql() -%}
peers as (
    select
        *,
        log1p(number) as magnitude,
        sort_array(collect_list(if(ends_month, null, log1p(number))) over (
            partition by relation, what, kind_of_day order by business_date asc nulls last
            rows between 8 preceding and 1 preceding
        )) as peers
    from counts
),

distances as (
    select
        *,
        if(size(peers) >= 4, {{ tidemark.sorted_median_expr('peers') }}, null) as usual,
        magnitude - if(size(peers) >= 4, {{ tidemark.sorted_median_expr('peers') }}, null) as distance
    from peers
),

surroundings as (
    select
        *,
        sort_array(collect_list(if(ends_month, null, distance)) over (
            partition by relation, what order by business_date asc nulls last
            rows between 60 preceding and 1 preceding
        )) as others,
        collect_list(distance) over (
            partition by relation, what, ends_month order by business_date asc nulls last
            rows between 8 preceding and 1 preceding
        ) as month_ends
    from distances
),

drifts as (
    select
        *,
        {{ tidemark.sorted_median_expr('others') }} as drift
    from surroundings
),
{%- endmacro -%}
