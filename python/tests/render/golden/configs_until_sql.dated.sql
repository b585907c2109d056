with commits as (
    select
        *,
        max(if(kind = 'full_refresh' and state = 'completed', commit_id, 0)) over () as log_start_id
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
)

select distinct config
from commits
where
    state = 'completed'
    and kind in ('load', 'full_refresh')
    and commit_id >= log_start_id
    and business_date <= date'2026-03-04'
