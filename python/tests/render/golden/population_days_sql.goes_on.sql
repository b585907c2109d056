select
    cast(coalesce(etl_tstamp, collector_tstamp) as date) as _day,
    count(*) as _event_count
from shop.atomic_events
where
    cast(coalesce(etl_tstamp, collector_tstamp) as date) is not null
    and cast(coalesce(etl_tstamp, collector_tstamp) as date) >= date'2026-01-01'
    and cast(coalesce(etl_tstamp, collector_tstamp) as date) > date'2026-03-02'
group by _day
order by _day asc nulls last
