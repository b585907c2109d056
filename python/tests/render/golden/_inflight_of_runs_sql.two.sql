select distinct relation
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
    )
    where _tidemark_rank = 1
)
where
    state = 'inflight'
    and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback')
    and invocation_id in ('one', 'it\'s')
