with sampled as (
    (
        select *
        from changes
        where _operation = 'I' and _business_date = date'2026-03-04' and _supersedes is null
        order by `id` asc nulls last, _key_hash asc nulls last
        limit 5
    )
    union all
    (
        select *
        from changes
        where _operation = 'U' and _business_date = date'2026-03-04' and _supersedes is null
        order by `id` asc nulls last, _key_hash asc nulls last
        limit 5
    )
    union all
    (
        select *
        from changes
        where _operation = 'D' and _business_date = date'2026-03-04' and _supersedes is null
        order by `id` asc nulls last, _key_hash asc nulls last
        limit 5
    )
)

select
    sampled._operation,
    sampled._business_date,
    to_json(sampled._changed_columns) as _changed_columns,
    to_json(named_struct('id', sampled.`id`), map('ignoreNullFields', 'false')) as _key,
    if(sampled._operation = 'D', to_json(named_struct('id', sampled.`id`, 'full name', sampled.`full name`, 'phone', sampled.`phone`, 'balance', sampled.`balance`, 'loaded_at', sampled.`loaded_at`), map('ignoreNullFields', 'false')), null) as _old,
    if(sampled._operation <> 'D', to_json(named_struct('id', sampled.`id`, 'full name', sampled.`full name`, 'phone', sampled.`phone`, 'balance', sampled.`balance`, 'loaded_at', sampled.`loaded_at`), map('ignoreNullFields', 'false')), null) as _new
from sampled
order by array_position(array('I', 'U', 'D'), sampled._operation) asc nulls last,
    sampled.`id` asc nulls last, sampled._key_hash asc nulls last
