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

select
    max(commit_id) as last_id,
    coalesce(max(commit_id) filter (where state = 'completed' and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback')),
        0) as last_commit_id,
    max(last_sequence_num)
        filter (where state = 'completed' and commit_id >= log_start_id) as last_sequence_num,
    max_by(config, commit_id) filter (where state = 'completed' and config is not null) as config,
    to_json(collect_list(struct(commit_id, kind, business_date, config)) filter (
        where state = 'inflight' and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback')
    )) as inflight,
    to_json(collect_list(commit_id) filter (where state = 'rolled_back')) as undone,
    coalesce(max(commit_id)
        filter (where kind = 'full_refresh' and state = 'rolled_back' and undone_by is null), 0)
    > coalesce(max(commit_id) filter (where kind in ('load', 'full_refresh') and state = 'completed'),
        0) as left_refresh,
    count(*) filter (where state = 'completed' and kind = 'erase_key') > 0 as has_erased,
    max(commit_id) filter (where state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id and business_date = date'2026-03-04') as this_commit_id,
    max(if(state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id and business_date = date'2026-03-04', named_struct('business_date', business_date, 'commit_id', commit_id, 'extract', get_json_object(config, '$.extract')),
        null)).extract as this_extract,
    max(business_date) filter (where state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id and business_date < date'2026-03-04') as previous_date,
    max(if(state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id and business_date < date'2026-03-04', named_struct('business_date', business_date, 'commit_id', commit_id, 'extract', get_json_object(config, '$.extract')),
        null)).extract as previous_extract,
    max(business_date) filter (where state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id) as last_date,
    max(if(state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id, struct(business_date, commit_id), null)).commit_id as last_date_commit_id,
    max(if(state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id, named_struct('business_date', business_date, 'commit_id', commit_id, 'extract', get_json_object(config, '$.extract')), null)).extract as last_extract,
    to_json(sort_array(
        collect_list(named_struct('business_date', business_date, 'commit_id', commit_id, 'extract', get_json_object(config, '$.extract'))) filter (where state = 'completed' and kind in ('load', 'full_refresh') and commit_id >= log_start_id and business_date > date'2026-03-04')
    )) as later_loads
from commits
