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
