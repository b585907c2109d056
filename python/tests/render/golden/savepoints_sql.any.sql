select
    source_commit_id as commit_id,
    max_by(get_json_object(details, '$.name'), commit_id) as name
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
where _tidemark_rank = 1 and kind = 'savepoint' and state = 'completed'
group by source_commit_id
having not max_by(coalesce(get_json_object(details, '$.removed'), 'false') = 'true', commit_id)
