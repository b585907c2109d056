select
    relation,
    business_date,
    commit_id
from (
    select
        *,
        max(if(kind = 'full_refresh', commit_id, 0)) over () as log_start_id
    from shop.tidemark_commits
    where relation = 'shop.customers' and state = 'completed'
)
where kind in ('load', 'full_refresh') and business_date is not null and commit_id >= log_start_id
