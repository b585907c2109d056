select
    * except (_business_date, _changed_columns, _commit_id, _superseded_by, _tidemark_rank)
from (
    select
        *,
        row_number() over (partition by _key_hash
            order by _business_date desc nulls last) as _tidemark_rank
    from shop.customers__log
    where
        _superseded_by is null and _business_date <= date'2026-03-04'
)
where _tidemark_rank = 1 and _operation <> 'D'
