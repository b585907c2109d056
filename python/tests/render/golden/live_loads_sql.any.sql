select commit_id
from (
    select
        commit_id,
        row_number() over (partition by business_date order by commit_id desc nulls last) as _tidemark_rank
    from (
    select
        *,
        row_number() over (
            partition by relation, commit_id
            order by state_at desc nulls last, state = 'inflight' asc nulls last
        ) as _tidemark_rank
    from shop.tidemark_commits
        where relation = 'shop.customers'
    )
    where _tidemark_rank = 1 and kind in ('load', 'full_refresh') and state = 'completed' and commit_id <= 260304093000123
)
where _tidemark_rank = 1
