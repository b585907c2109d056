-- What the releases of the airport table hold, counted outside Spark; looked at once all four are loaded, or the first and
-- the last, and no other.
with counts as (
    select
        cast(_business_date as string) as business_date,
        count_if(_operation = 'I') as inserted,
        count_if(_operation = 'U') as updated,
        count_if(_operation = 'D') as deleted
    from {{ tidemark.history(ref('airports')) }}
    group by _business_date
),

expected as (
    select * from values
        (4, '2025-08-11', 28224, 0, 0),
        (4, '2025-09-09', 60, 616, 14),
        (4, '2026-02-05', 34, 132, 30),
        (4, '2026-03-04', 428, 12180, 292),
        (2, '2025-08-11', 28224, 0, 0),
        (2, '2026-03-04', 521, 12915, 335)
        as expected (releases, business_date, inserted, updated, deleted)
),

loaded as (
    select sort_array(collect_list(business_date)) as dates from counts
)

select expected.*
from expected
inner join loaded on expected.releases = size(loaded.dates)
left anti join counts
    on
        expected.business_date = counts.business_date
        and expected.inserted = counts.inserted
        and expected.updated = counts.updated
        and expected.deleted = counts.deleted
where loaded.dates in (
    array('2025-08-11', '2025-09-09', '2026-02-05', '2026-03-04'),
    array('2025-08-11', '2026-03-04')
)
