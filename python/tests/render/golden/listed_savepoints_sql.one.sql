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
    kept.entity,
    kept.commit_id,
    savepoints.name,
    kept.kind,
    cast(kept.business_date as string) as business_date,
    date_format(kept.completed_at, 'yyyy-MM-dd HH:mm:ss') as completed_at,
    date_format(savepoints.made_at, 'yyyy-MM-dd HH:mm:ss') as made_at
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
) as savepoints
inner join commits as kept on savepoints.relation = kept.relation
    and savepoints.source_commit_id = kept.commit_id
order by kept.entity asc nulls last, kept.commit_id desc nulls last
