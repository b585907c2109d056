{#- The versions of a table with intervals (a dbt snapshot) as an extract of one business date: those that
    hold at the end of it. `versions` is what adopted_versions() tells of the table. -#}
{%- macro adopted_extract_sql(versions, business_date) -%}
select
    {{ versions['columns'] | join(',\n    ') }}
from (
    {{ tidemark.adopted_versions_sql(versions) | indent(4) }}
)
where _tidemark_from <= date'{{ business_date }}'
    and (_tidemark_to is null or _tidemark_to > date'{{ business_date }}')
{%- endmacro -%}

{#- Every version with the dates between which it holds at the end of a day; those of deleted rows (dbt's
    `new_record`) are none. -#}
{%- macro adopted_versions_sql(versions) -%}
{%- set to = 'cast(' ~ tidemark.quote_identifier(versions['to']) ~ ' as date)' -%}
select
    *,
    cast({{ tidemark.quote_identifier(versions['from']) }} as date) as _tidemark_from,
    {#- a date in place of NULL, such as 9999-12-31, is an open end #}
    if({{ to }} >= date'9000-01-01', null,
        {{ 'date_add(' ~ to ~ ', 1)' if versions['inclusive'] else to }}) as _tidemark_to
from {{ versions['table'] }}
{%- if versions['deleted'] %}
where not coalesce(cast({{ tidemark.quote_identifier(versions['deleted']) }} as boolean), false)
{%- endif %}
{%- endmacro -%}

{#- What a table with intervals holds, one row: versions, those that begin and end within a day, those without
    begin, with an end before the begin, that hold beside another one of their key, and a key of which two do.
    -#}
{%- macro adopted_figures_sql(versions, keys) -%}
{%- set key = tidemark.column_list_expr(keys) | replace('\n    ', ' ') -%}
select
    count(*) as version_count,
    count_if(_tidemark_to = _tidemark_from) as within_count,
    count_if(_tidemark_from is null) as beginless_count,
    count_if(_tidemark_to < _tidemark_from) as reversed_count,
    count_if(_tidemark_next < coalesce(_tidemark_to, date'9999-12-31')) as overlapping_count,
    min(if(_tidemark_next < coalesce(_tidemark_to, date'9999-12-31'), to_json(struct({{ key }})),
        null)) as overlapping_key
from (
    select
        *,
        {# what begins and ends within a day holds at the end of none -#}
        if(_tidemark_to <=> _tidemark_from, null, lead(_tidemark_from) over (
            partition by {{ key }}, _tidemark_to <=> _tidemark_from order by _tidemark_from asc nulls last
        )) as _tidemark_next
    from (
        {{ tidemark.adopted_versions_sql(versions) | indent(8) }}
    )
)
{%- endmacro -%}

{#- The dates at whose end other rows hold than on the date before. -#}
{%- macro adopted_dates_sql(versions) -%}
with versions as (
    {{ tidemark.adopted_versions_sql(versions) | indent(4) }}
)

select distinct string(business_date) as business_date
from (
    select _tidemark_from as business_date from versions where not _tidemark_from <=> _tidemark_to
    union all
    select _tidemark_to as business_date from versions where _tidemark_to > _tidemark_from
)
order by business_date asc nulls last
{%- endmacro -%}

{#- The dates, and how many, at whose end the log replayed has another number of rows than the table; no row
    if there is none. -#}
{%- macro adopted_differences_sql(versions, log_relation, dates) -%}
with changes as (
    select _tidemark_from as business_date, 1 as in_table, 0 as in_log
    from (
        {{ tidemark.adopted_versions_sql(versions) | indent(8) }}
    )
    where not _tidemark_from <=> _tidemark_to
    union all
    select _tidemark_to as business_date, -1 as in_table, 0 as in_log
    from (
        {{ tidemark.adopted_versions_sql(versions) | indent(8) }}
    )
    where _tidemark_to > _tidemark_from
    union all
    select _business_date as business_date, 0 as in_table, case _operation when 'I' then 1
        when 'D' then -1 else 0 end as in_log
    from {{ log_relation }}
    where _superseded_by is null and _business_date <= date'{{ dates[-1] }}'
)

select string(min(business_date)) as first_date, count(*) as date_count
from (
    select
        business_date,
        sum(sum(in_table)) over (order by business_date asc nulls last) as rows_in_table,
        sum(sum(in_log)) over (order by business_date asc nulls last) as rows_in_log
    from changes
    group by business_date
)
where rows_in_table <> rows_in_log
having count(*) > 0
{%- endmacro -%}
