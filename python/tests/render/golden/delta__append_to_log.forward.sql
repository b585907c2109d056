insert into shop.customers__log (
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
)
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
    260304093000123
from changes
where
    (select count_if(commit_id = 260304093000123) + count(distinct if(commit_id <> 260304093000123 and state <> 'rolled_back', commit_id, null)) - count(distinct if(commit_id <> 260304093000123 and state = 'rolled_back', commit_id, null)) from shop.tidemark_commits where relation = 'shop.customers' and (commit_id = 260304093000123 and (state = 'rolled_back' or details is not null) or commit_id <> 260304093000123 and commit_id > 260304093000122 and kind in ('full_refresh', 'rehash', 'promote'))) = 0
    and (select count(*) from shop.customers__log where _commit_id > 260304093000122) = 0
