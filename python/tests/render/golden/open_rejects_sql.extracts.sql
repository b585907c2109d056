select * except (_tidemark_last)
from (
    select
        *,
        max(_commit_id) over (partition by _business_date) as _tidemark_last
    from shop.people__rejects
    where _commit_id >= 0
)
where _resolved_by is null and _commit_id = _tidemark_last
