select
    commit_id,
    undone_by
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
        where relation = 'shop.atomic_events'
    )
    where _tidemark_rank = 1
)
where
    kind in ('load', 'full_refresh')
    and commit_id <= 7
    and undone_by > 7
order by commit_id desc nulls last
