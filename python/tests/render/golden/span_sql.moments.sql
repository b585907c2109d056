with commits as (
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
),

written as (
    select
        *,
        state = 'completed' or undone_by is not null as is_whole,
        max(if(kind = 'full_refresh' and state = 'completed', commit_id, 0)) over () as log_start
    from commits
    where kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback', 'repeat')
)

select
    max(commit_id) filter (where is_whole and kind <> 'repeat') as last_id,
    max_by(config, commit_id) filter (where state = 'completed' and config is not null) as config,
    min(commit_id) filter (where state = 'inflight') as inflight_id,
    date_format(min(started_at) filter (where state = 'inflight'), 'yyyy-MM-dd HH:mm:ss') as inflight_at,
    coalesce(max(log_start), 0) as log_start_id,
    coalesce(any_value(floor_id), 0) as floor_id,
    date_format(max(completed_at) filter (where commit_id = floor_id), 'yyyy-MM-dd HH:mm:ss') as floor_at,
    coalesce(min(commit_id) filter (where is_whole and kind in ('load', 'full_refresh') and business_date = date'2026-03-04' and commit_id >= log_start and undone_by is null), min(commit_id) filter (where is_whole and kind in ('load', 'full_refresh') and business_date = date'2026-03-04' and commit_id >= log_start), min(commit_id) filter (where is_whole and kind in ('load', 'full_refresh') and business_date = date'2026-03-04')) as from_id,
    coalesce(max(commit_id) filter (where is_whole and completed_at <= to_at), 0) as to_id,
    any_value(to_at) > current_timestamp() as to_is_future,
    coalesce(min(started_at) filter (where state = 'inflight') <= any_value(to_at),
        false) as to_is_open
from written
cross join (
    select
        cast(null as timestamp) as from_at,
        try_cast('2026-03-05 09:30' as timestamp) as to_at,
        (
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
        ) as floor_id
) as asked
