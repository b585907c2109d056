merge into shop.customers as current
using (
    with touched_keys as (
        select distinct _key_hash
        from shop.customers__log
        where _commit_id = 260304093000123 or _superseded_by = 260304093000123
    ),

    ranked as (
        select
            log.*,
            row_number() over (partition by log._key_hash
                order by log._business_date desc nulls last) as _tidemark_rank
        from shop.customers__log as log
        left semi join touched_keys on log._key_hash = touched_keys._key_hash
        where log._superseded_by is null
    )

    select
        ranked.`id`,
        ranked.`full name`,
        ranked.`balance`,
        ranked.`loaded_at`,
        ranked.`_row_hash`,
        ranked.`_operation`,
        ranked.`_eff_start_date`,
        touched_keys._key_hash
    from touched_keys
    left join ranked on touched_keys._key_hash = ranked._key_hash and ranked._tidemark_rank = 1
) as slice
    on current._key_hash <=> slice._key_hash
when matched and slice._operation is not null and slice._operation <> 'D' then update set
    `id` = slice.`id`,
    `full name` = slice.`full name`,
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
    `balance`,
    `loaded_at`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_eff_start_date`
) values (
    slice.`id`,
    slice.`full name`,
    slice.`balance`,
    slice.`loaded_at`,
    slice.`_key_hash`,
    slice.`_row_hash`,
    slice.`_operation`,
    slice.`_eff_start_date`
)
