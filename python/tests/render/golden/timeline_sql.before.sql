select
    commit_id,
    kind,
    cast(business_date as string) as business_date,
    source_commit_id,
    invocation_id,
    is_correction,
    get_json_object(config, '$.extract') as extract,
    rows_inserted,
    rows_updated,
    rows_deleted
from (
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
where
    commit_id >= log_start_id
    and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback', 'repeat')
    and (state = 'completed' or undone_by is not null)
    and commit_id < 260304093000123
order by commit_id asc nulls last
