with last_runs as (
    select
        max(commit_id) as last_id,
        max(commit_id) filter (where state = 'completed') as commit_id,
        max_by(source_commit_id, commit_id) filter (where state = 'completed') as source_commit_id,
        max_by(rows_read, commit_id) filter (where state = 'completed') as rows_read,
        max_by(config, commit_id) filter (where state = 'completed') as config
    from shop.tidemark_commits
    where relation = 'shop.customers_scd2' and kind = 'scd2'
),

replaced_logs as (
    select max(commit_id) as commit_id
    from shop.tidemark_commits
    where
        relation = 'shop.customers'
        and kind in ('full_refresh', 'rehash', 'promote')
        and state = 'completed'
)

select
    last_runs.last_id,
    coalesce(last_runs.commit_id, 0) as commit_id,
    coalesce(last_runs.source_commit_id, 0) as source_commit_id,
    coalesce(last_runs.rows_read, 0) as rows_read,
    last_runs.config,
    coalesce(replaced_logs.commit_id, 0) as log_commit_id
from last_runs
cross join replaced_logs
