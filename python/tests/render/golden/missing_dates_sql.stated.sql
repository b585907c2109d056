with loaded as (
    select distinct
        relation,
        business_date
    from (select * from shop.tidemark_commits)
),

spans as (
    select
        relation,
        date'2026-01-01' as first_date,
        max(business_date) as last_date,
        true as is_daily,
        array(0, 4) as days
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
    and expected.business_date not in (date'2026-04-03')
