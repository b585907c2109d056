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
    from (select * from shop.tidemark_commits)
    where business_date not in (date'2026-04-03')
),

counts as (
    select
        relation,
        business_date,
        commit_id,
        if(is_sparse, -1, weekday(business_date)) as kind_of_day,
        not is_sparse and next_month <> month(business_date) as ends_month,
        stack(
            4,
            'inserted', coalesce(rows_inserted, 0),
            'updated', coalesce(rows_updated, 0),
            'deleted', coalesce(rows_deleted, 0),
            'rejected', coalesce(rows_rejected, 0)
        ) as (what, number)
    from days
),

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
        if(size(peers) >= 4, (get(peers, int((size(peers) - 1) / 2)) + get(peers, int(size(peers) / 2))) / 2, null) as usual,
        magnitude - if(size(peers) >= 4, (get(peers, int((size(peers) - 1) / 2)) + get(peers, int(size(peers) / 2))) / 2, null) as distance
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
        (get(others, int((size(others) - 1) / 2)) + get(others, int(size(others) / 2))) / 2 as drift
    from surroundings
),

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
            6 * 1.4826 * (get(scatter, int((size(scatter) - 1) / 2)) + get(scatter, int(size(scatter) / 2))) / 2,
            1.25 * if(beyond > 0, get(others, size(others) - 2) - drift, drift - get(others, 1)),
            ln(1.5)
        )
        and abs(sqrt(number) - sqrt(usual_number)) > 3
        and abs(number - usual_number) >= 10 as is_unusual,
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
    and (problem = 'too many' or what not in ('rejected'))
