select
    current.`id`,
    current.`full name`,
    current.`balance`,
    current.`loaded_at`,
    sensitive.`phone`,
    current._key_hash,
    current._row_hash
from shop.customers as current
left join (
    select
        log.`_key_hash`,
        log.`_row_hash`,
        log.`_business_date`,
        log.`_commit_id`,
        sensitive.* except (_key_hash, _row_hash, _business_date, _commit_id),
        row_number() over (
            partition by log._key_hash, log._row_hash, log._business_date
            order by log._business_date desc nulls last
        ) as _tidemark_rank
    from shop.customers__log as log
    left join shop.customers__sensitive as sensitive
        on
            log._key_hash = sensitive._key_hash
            and log._business_date = sensitive._business_date
            and log._commit_id = sensitive._commit_id
    where log._superseded_by is null
) as sensitive
    on current._key_hash = sensitive._key_hash and current._row_hash = sensitive._row_hash
        and sensitive._tidemark_rank = 1
    and current._eff_start_date = sensitive._business_date
where current._operation <> 'D'
