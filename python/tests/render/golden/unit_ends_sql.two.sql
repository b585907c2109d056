with commits as (
    select *
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
            where relation in ('shop.orders', 'shop.order_lines')
        )
        where _tidemark_rank = 1
    )
    where kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback', 'repeat')
)

select
    relation,
    coalesce(max(commit_id), 0) as last_id
from commits
cross join (select min(running.started_at) filter (where running.state = 'inflight') as _begun
    from commits as running) as in_flight
where
    (state = 'completed' or undone_by is not null)
    and kind <> 'repeat'
    and (_begun is null or completed_at < _begun)
group by relation
