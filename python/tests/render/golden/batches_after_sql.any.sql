select
    commit_id,
    kind,
    rows_inserted
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
    and state = 'completed'
    and commit_id > 7
order by commit_id desc nulls last
