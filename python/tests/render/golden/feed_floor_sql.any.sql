select coalesce(max(if(kind = 'clean', source_commit_id, commit_id)), 0)
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
    (kind = 'clean' and state in ('inflight', 'completed'))
    or (kind = 'full_refresh' and state = 'completed')
