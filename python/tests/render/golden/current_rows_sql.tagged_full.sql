with touched as (
    select * from changes
),

latest as (
    select
        if(touched._key_hash is null, stored_rows.`id`, touched.`id`)
            as `id`,
        if(touched._key_hash is null, stored_rows.`full name`, touched.`full name`)
            as `full name`,
        if(touched._key_hash is null, stored_rows.`balance`, touched.`balance`)
            as `balance`,
        if(touched._key_hash is null, stored_rows.`loaded_at`, touched.`loaded_at`)
            as `loaded_at`,
        if(touched._key_hash is null, stored_rows.`_row_hash`, touched.`_row_hash`)
            as `_row_hash`,
        if(touched._key_hash is null, stored_rows.`_operation`, touched.`_operation`)
            as `_operation`,
        if(touched._key_hash is null, stored_rows.`_eff_start_date`, touched.`_eff_start_date`)
            as `_eff_start_date`,
        coalesce(touched._key_hash, stored_rows._key_hash) as _key_hash
    from stored as stored_rows
    full outer join touched on stored_rows._key_hash = touched._key_hash
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
