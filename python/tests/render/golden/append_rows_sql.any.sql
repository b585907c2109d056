insert into shop.tidemark_commits (
    `commit_id`,
    `business_date`,
    `started_at`,
    `completed_at`,
    `is_correction`,
    `config`
)
select
    cast(260304093000123 as bigint),
    cast('2026-03-04' as date),
    timestamp'2026-03-04 09:30:00.123456Z',
    cast(null as timestamp),
    cast('False' as boolean),
    cast('{"name": "o\'Neil \\\\ co"}' as string)
union all
select
    cast(7 as bigint),
    cast(null as date),
    cast(null as timestamp),
    cast(null as timestamp),
    cast(null as boolean),
    cast(null as string)
