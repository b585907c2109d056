with touched as (
    select * from changes
),

latest as (
    select
        `id`,
        `full name`,
        `balance`,
        `loaded_at`,
        `_key_hash`,
        `_row_hash`,
        `_operation`,
        `_eff_start_date`
    from touched
    union all
    select
        stored_rows.`id`,
        stored_rows.`full name`,
        stored_rows.`balance`,
        stored_rows.`loaded_at`,
        stored_rows.`_key_hash`,
        stored_rows.`_row_hash`,
        stored_rows.`_operation`,
        stored_rows.`_eff_start_date`
    from stored as stored_rows
    left anti join touched on stored_rows._key_hash = touched._key_hash
)

select
    latest.`id`,
    latest.`full name`,
    latest.`balance`,
    latest.`loaded_at`,
    latest._key_hash,
    latest._row_hash,
    case
        when coalesce(latest._operation, 'D') = 'D' or latest._eff_start_date = date'2026-03-04' then latest._operation
        when tagged_keys._key_hash is null then 'N'
        else 'X'
    end as _operation,
    latest._eff_start_date
from latest
left join (
    select distinct _key_hash
    from shop.customers__rejects
    where
        _key_hash is not null
        and _business_date = date'2026-03-04'
        and _commit_id = 260304093000123
) as tagged_keys on latest._key_hash = tagged_keys._key_hash
where latest._operation is not null and latest._operation <> 'D'
