with touched as (
    select * from changes
),

latest as (
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
    from touched
    union all
    select /*+ broadcast(touched) */
        stored_rows.`id`,
        stored_rows.`full name`,
        stored_rows.`phone`,
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
    latest.`phone`,
    latest.`balance`,
    latest.`loaded_at`,
    latest._key_hash,
    latest._row_hash,
    latest._operation as _operation,
    latest._eff_start_date
from latest
where latest._operation is not null and latest._operation <> 'D'
