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

log_start as (
    select coalesce(max(commit_id), 0) as commit_id
    from commits
    where kind = 'full_refresh' and state = 'completed'
),

loads as (
    select
        commits.business_date,
        max(commits.commit_id) as commit_id
    from commits
    inner join log_start on commits.commit_id >= log_start.commit_id
    where commits.state = 'completed' and commits.kind in ('load', 'full_refresh')
    group by commits.business_date
)

select
    (select max(commit_id) from commits) as last_id,
    (select coalesce(max(commit_id), 0) from commits where state = 'completed') as last_commit_id,
    (
        select max(commits.last_sequence_num)
        from commits inner join log_start on commits.commit_id >= log_start.commit_id
        where commits.state = 'completed'
    ) as last_sequence_num,
    (select max_by(config, commit_id) from commits where state = 'completed' and config is not null) as config,
    (
        select to_json(collect_list(struct(commit_id, kind, business_date, config)))
        from commits
        where state = 'inflight' and kind in ('load', 'full_refresh', 'rehash', 'rollback')
    ) as inflight,
    (select to_json(collect_list(commit_id)) from commits where undone_by is not null) as undone,
    max_by(commit_id, business_date) filter (where business_date = date'2026-03-04') as this_commit_id,
    max(business_date) filter (where business_date < date'2026-03-04') as previous_date,
    max(business_date) as last_date,
    max_by(commit_id, business_date) as last_date_commit_id,
    to_json(sort_array(
        collect_list(struct(business_date, commit_id)) filter (where business_date > date'2026-03-04')
    )) as later_loads
from loads
