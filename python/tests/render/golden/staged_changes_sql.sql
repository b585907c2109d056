select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `loaded_at`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_changed_columns`,
    date'2026-03-04' as _business_date,
    date'2026-03-04' as _eff_start_date,
    260304093000123 as _commit_id
from labelled
where _operation in ('I', 'U', 'D')
