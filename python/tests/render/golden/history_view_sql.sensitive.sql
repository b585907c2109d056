create or replace view shop.customers__history as
select
    `id`,
    `full name`,
    `balance`,
    `loaded_at`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_business_date`,
    `_eff_start_date`,
    `_changed_columns`,
    `_commit_id`
from shop.customers__log
where _superseded_by is null
