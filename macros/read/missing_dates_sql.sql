{#- The business dates that are missing between the first and the last of each relation's `loads`, by the rule
    of `tidemark status` (tidemark.read.calendar) or by a calendar that is given, see load_calendar(). -#}
{%- macro missing_dates_sql(loads, calendar) -%}
with loaded as (
    select distinct
        relation,
        business_date
    from ({{ loads }})
),

spans as (
    select
        relation,
        {{ "date'" ~ calendar['since'] ~ "'" if calendar['since'] else 'min(business_date)' }} as first_date,
        max(business_date) as last_date,
        {%- if calendar['days'] is none %}
        -- loaded day by day: of at least five dates more than half follow the day before, or the working day
        -- before
        count(*) >= 5 and (
            2 * count_if(next_date = date_add(business_date, 1)) > count(next_date)
            or max(weekday(business_date)) < 5
            and 2 * count_if(
                next_date = date_add(business_date, if(weekday(business_date) = 4, 3, 1))
            ) > count(next_date)
        ) as is_daily,
        if(max(weekday(business_date)) < 5, array(0, 1, 2, 3, 4), array(0, 1, 2, 3, 4, 5, 6)) as days
        {%- else %}
        true as is_daily,
        array({{ calendar['days'] | join(', ') }}) as days
        {%- endif %}
    from (
        select
            *,
            lead(business_date) over (partition by relation
                order by business_date asc nulls last) as next_date
        from loaded
    )
    group by relation
),

expected as (
    select
        relation,
        explode(filter(
            sequence(first_date, last_date, interval 1 day), day -> array_contains(days, weekday(day))
        )) as business_date
    from spans
    where is_daily and first_date <= last_date
)

select
    expected.relation,
    expected.business_date as missing_date
from expected
left join loaded
    on expected.relation = loaded.relation and expected.business_date = loaded.business_date
where
    loaded.business_date is null
    {%- if calendar['except'] %}
    and expected.business_date not in ({{ tidemark.date_list_expr(calendar['except']) }})
    {%- endif %}
{%- endmacro -%}

{#- The business dates that a relation has since its log began anew: its loads that hold. -#}
{%- macro dated_loads_sql(commits, relation) -%}
select
    relation,
    business_date,
    commit_id
from (
    select
        *,
        max(if(kind = 'full_refresh', commit_id, 0)) over () as log_start_id
    from {{ commits }}
    where relation = {{ tidemark.string_literal(relation) }} and state = 'completed'
)
where kind in ('load', 'full_refresh') and business_date is not null and commit_id >= log_start_id
{%- endmacro -%}

{#- A calendar as the arguments of a test say it: `days` by number, Monday being 0, none if it is to be told
    from what was loaded. -#}
{%- macro load_calendar(every, since, except_dates) -%}
    {%- set names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] -%}
    {%- set days = [] -%}
    {%- set given = {'day': names, 'weekday': names[:5]}.get(every, [every]) if every is string
        else every or [] -%}
    {%- for name in given -%}
        {%- if name not in names -%}
            {%- do tidemark.raise_error('configuration',
                'dates_are_complete: every must be day, weekday or a list of ' ~ names | join(', ')
                    ~ '; found: ' ~ every
            ) -%}
        {%- endif -%}
        {%- do days.append(names.index(name)) -%}
    {%- endfor -%}
    {{ return({
        'days': days | unique | list if every else none,
        'since': tidemark._business_date(since, 'dates_are_complete: since'),
        'except': tidemark.date_list(except_dates, 'dates_are_complete: except'),
    }) }}
{%- endmacro -%}

{#- Dates as texts, of an argument that is a date or a list of dates. -#}
{%- macro date_list(dates, argument) -%}
    {%- set found = [] -%}
    {%- set several = dates if dates is sequence and dates is not string else [dates] -%}
    {%- for date in several if date is not none -%}{%- do found.append(tidemark._business_date(date,
        argument)) -%}{%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{%- macro date_list_expr(dates) -%}
    {%- set literals = [] -%}
    {%- for date in dates -%}{%- do literals.append("date'" ~ date ~ "'") -%}{%- endfor -%}
    {{ return(literals | join(', ')) }}
{%- endmacro -%}
