select
    max_by(current_version_after, commit_id) as version,
    max_by(get_json_object(details, '$.table_id'), commit_id) filter (where kind = 'compact') as table_id,
    count_if(kind = 'compact') as compact_count
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
    and kind in ('compact', 'erase_key')
    and current_version_after is not null
