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
        where relation in ('shop.products', 'shop.atomic_events')
    )
    where _tidemark_rank = 1
),

own as (
    select
        max(commit_id) as last_id,
        coalesce(max_by(source_commit_id, commit_id) filter (where kind = 'shred'), 0) as read_to,
        max_by(config, commit_id) filter (where kind = 'shred') as config
    from commits
    where relation = 'shop.products'
),

events as (
    select
        coalesce(max(commit_id) filter (where kind = 'full_refresh' and state = 'completed'),
            0) as source_start,
        coalesce(min(commit_id) filter (where kind in ('load', 'full_refresh') and state = 'inflight'),
            9223372036854775807) as first_inflight,
        to_json(collect_list(commit_id) filter (where state = 'rolled_back')) as undone
    from commits
    where relation = 'shop.atomic_events'
)

select
    own.last_id,
    own.read_to,
    own.config,
    events.source_start,
    events.undone,
    coalesce((
        select max(commits.commit_id)
        from commits
        where
            commits.relation = 'shop.atomic_events'
            and commits.state = 'completed'
            and commits.kind in ('load', 'full_refresh')
            and commits.commit_id < (select min(first_inflight) from events)
    ), 0) as source_end
from own
cross join events
