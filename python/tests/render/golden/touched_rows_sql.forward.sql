select
    `id`,
    `full name`,
    `balance`,
    `loaded_at`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_eff_start_date`
from shop.customers__log
where _business_date = date'2026-03-04' and _commit_id = 260304093000123
