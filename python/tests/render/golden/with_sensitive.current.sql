select
    stored.*,
    sensitive.* except (_key_hash, _row_hash, _business_date, _commit_id, _tidemark_rank)
from shop.customers as stored
left join (
    select
        *,
        row_number() over (
            partition by _key_hash, _row_hash
            order by _commit_id desc nulls last, _business_date desc nulls last
        ) as _tidemark_rank
    from shop.customers__sensitive
) as sensitive
    on stored._key_hash <=> sensitive._key_hash and stored._row_hash <=> sensitive._row_hash
        and sensitive._tidemark_rank = 1
