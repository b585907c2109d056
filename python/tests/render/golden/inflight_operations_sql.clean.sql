select
    commit_id,
    unix_micros(started_at) as started_micros,
    unix_micros(state_at) as state_micros,
    source_commit_id,
    details
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
where kind = 'clean' and state = 'inflight'
order by commit_id asc nulls last
