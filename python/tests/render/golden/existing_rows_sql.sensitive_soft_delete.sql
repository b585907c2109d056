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
        *,
        row_number() over (
            partition by _key_hash, _row_hash
            order by _commit_id desc nulls last, _business_date desc nulls last
        ) as _tidemark_rank
    from shop.customers__sensitive
) as sensitive
    on current._key_hash = sensitive._key_hash and current._row_hash = sensitive._row_hash
        and sensitive._tidemark_rank = 1
where current._operation <> 'D'
