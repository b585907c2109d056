merge into shop.people as current
using (
    select
        `id`,
        `full name`,
        `phone`,
        `balance`,
        `loaded_at`,
        `_key_hash`,
        `_row_hash`,
        `_operation`,
        `_eff_start_date`
    from shop.people__log
    where _business_date = date'2026-03-04' and _commit_id = 260304093000123
) as slice
    on current._key_hash <=> slice._key_hash
    and (current._key_hash = '0cc175b9' or current._key_hash = '92eb5ffe')
when matched and slice._operation is not null and slice._operation <> 'D' then update set
    `id` = slice.`id`,
    `full name` = slice.`full name`,
    `phone` = slice.`phone`,
    `balance` = slice.`balance`,
    `loaded_at` = slice.`loaded_at`,
    `_key_hash` = slice.`_key_hash`,
    `_row_hash` = slice.`_row_hash`,
    `_operation` = slice.`_operation`,
    `_eff_start_date` = slice.`_eff_start_date`
when matched and not (slice._operation is not null and slice._operation <> 'D') then delete
when not matched and slice._operation is not null and slice._operation <> 'D' then insert (
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `loaded_at`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_eff_start_date`
) values (
    slice.`id`,
    slice.`full name`,
    slice.`phone`,
    slice.`balance`,
    slice.`loaded_at`,
    slice.`_key_hash`,
    slice.`_row_hash`,
    slice.`_operation`,
    slice.`_eff_start_date`
)
