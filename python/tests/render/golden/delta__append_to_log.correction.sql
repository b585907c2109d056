merge into shop.customers__log as log
using (
    select rows.*
    from changes as rows
    inner join (
        select count(*) as commits
        from shop.customers__log
        where _commit_id > 260304093000122 or _superseded_by > 260304093000122
    ) as later on later.commits = 0
    where (select count_if(commit_id = 260304093000123) + count(distinct if(commit_id <> 260304093000123 and state <> 'rolled_back', commit_id, null)) - count(distinct if(commit_id <> 260304093000123 and state = 'rolled_back', commit_id, null)) from shop.tidemark_commits where relation = 'shop.customers' and (commit_id = 260304093000123 and (state = 'rolled_back' or details is not null) or commit_id <> 260304093000123 and commit_id > 260304093000122 and kind in ('full_refresh', 'rehash', 'promote'))) = 0
) as slice
    on
        log._key_hash <=> slice._key_hash
        and log._business_date <=> slice._business_date
        and log._commit_id <=> slice._supersedes
        and log._business_date >= date'2026-03-04'
when matched then update set
    _superseded_by = 260304093000123
when not matched and slice._supersedes is null then insert (
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
