with last_states as (
    select *
    from (
        select
            *,
            row_number() over (
                partition by relation, commit_id
                order by state_at desc nulls last, state = 'inflight' asc nulls last
            ) as _tidemark_rank
        from shop.tidemark_commits
        where relation = 'shop.customers' or source_relation = 'shop.customers'
    )
    where _tidemark_rank = 1
),

commits as (
    select * from last_states
    where relation = 'shop.customers'
),

log_commits as (
    -- a commit is no older than those before it, whatever the clock was
    select
        *,
        max(completed_at) over (
            order by commit_id asc nulls last
            rows between unbounded preceding and current row
        ) as completed_by
    from commits
    where kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback') and state = 'completed'
),

savepoints as (
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
    )

    select
        source_commit_id as commit_id,
        name
    from (
        select
            relation,
            source_commit_id,
            max_by(get_json_object(details, '$.name'), commit_id) as name,
            max(completed_at) as made_at
        from commits
        where kind = 'savepoint' and state = 'completed'
        group by relation, source_commit_id
        having not max_by(coalesce(get_json_object(details, '$.removed'), 'false') = 'true', commit_id)
    )
),

consumers as (
    select
        relation,
        max_by(source_commit_id, commit_id) as commit_id
    from last_states
    where source_relation = 'shop.customers' and kind in ('scd2', 'feed') and state = 'completed'
    group by relation
)

select
    (
        select coalesce(max(commit_id), 0) from log_commits
        where completed_by <= current_timestamp() - interval 30 days
    ) as superseded_horizon,
    (
        select coalesce(max(commit_id), 0) from log_commits
        where completed_by <= current_timestamp() - interval 2 years
    ) as history_horizon,
    (select coalesce(max(commit_id), 0) from log_commits where kind = 'full_refresh') as log_start,
    (
        select coalesce(max(source_commit_id), 0) from commits
        where kind = 'clean' and state in ('inflight', 'completed')
    ) as floor,
    (select to_json(sort_array(collect_list(struct(commit_id, name)))) from savepoints) as savepoints,
    (select to_json(sort_array(collect_list(struct(commit_id, relation)))) from consumers) as consumers,
    (
        select to_json(sort_array(collect_list(struct(
            commit_id,
            kind,
            completed_by <= current_timestamp() - interval 30 days as is_old
        ))))
        from log_commits
        where kind in ('full_refresh', 'rehash', 'promote')
    ) as replaced_logs
