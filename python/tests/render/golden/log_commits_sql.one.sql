select
    commit_id,
    kind,
    business_date,
    completed_at
from (
    select *
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
    where _tidemark_rank = 1
)
where
    state = 'completed'
    and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback')
    and commit_id = 260304093000123
order by commit_id desc nulls last
limit 1
