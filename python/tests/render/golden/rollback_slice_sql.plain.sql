select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `loaded_at`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_business_date`,
    `_eff_start_date`,
    `_changed_columns`,
    if(_superseded_by is null, _commit_id, null) as _supersedes,
    if(_superseded_by is null, null, _commit_id) as _copy_of
from shop.people__log
where
    (_commit_id > 260304093000123 and _superseded_by is null)
    or (_commit_id <= 260304093000123 and _superseded_by > 260304093000123)
