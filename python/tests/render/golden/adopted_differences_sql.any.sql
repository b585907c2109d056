with changes as (
    select _tidemark_from as business_date, 1 as in_table, 0 as in_log
    from (
        select
            *,
            cast(`dbt_valid_from` as date) as _tidemark_from,
            if(cast(`dbt_valid_to` as date) >= date'9000-01-01', null,
                cast(`dbt_valid_to` as date)) as _tidemark_to
        from shop.people_snapshot
        where not coalesce(cast(`dbt_is_deleted` as boolean), false)
    )
    where not _tidemark_from <=> _tidemark_to
    union all
    select _tidemark_to as business_date, -1 as in_table, 0 as in_log
    from (
        select
            *,
            cast(`dbt_valid_from` as date) as _tidemark_from,
            if(cast(`dbt_valid_to` as date) >= date'9000-01-01', null,
                cast(`dbt_valid_to` as date)) as _tidemark_to
        from shop.people_snapshot
        where not coalesce(cast(`dbt_is_deleted` as boolean), false)
    )
    where _tidemark_to > _tidemark_from
    union all
    select _business_date as business_date, 0 as in_table, case _operation when 'I' then 1
        when 'D' then -1 else 0 end as in_log
    from shop.people__log
    where _superseded_by is null and _business_date <= date'2026-03-04'
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
