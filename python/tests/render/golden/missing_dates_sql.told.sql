with loaded as (
    select distinct
        relation,
        business_date
    from (select * from shop.tidemark_commits)
),

spans as (
    select
        relation,
        min(business_date) as first_date,
        max(business_date) as last_date,
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
