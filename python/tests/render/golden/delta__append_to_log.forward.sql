merge into shop.customers__log as log
using (
    select *
    from changes
    where (select count(*) from shop.tidemark_commits where relation = 'shop.customers' and commit_id = 260304093000123 and (state = 'rolled_back' or details is not null)) = 0
) as slice
    on log._commit_id > 260304093000122
when not matched then insert (
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
    _commit_id
) values (
    slice.`id`,
    slice.`full name`,
    slice.`balance`,
    slice.`loaded_at`,
    slice.`_key_hash`,
    slice.`_row_hash`,
    slice.`_operation`,
    slice.`_business_date`,
    slice.`_eff_start_date`,
    slice.`_changed_columns`,
    260304093000123
)
