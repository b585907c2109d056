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
