with sampled as (
    (
        select *
        from changed
        where _operation = 'I' and _business_date = date'2026-03-04'
        order by `id` asc nulls last, _key_hash asc nulls last
        limit 5
    )
    union all
    (
        select *
        from changed
        where _operation = 'U' and _business_date = date'2026-03-04'
        order by `id` asc nulls last, _key_hash asc nulls last
        limit 5
    )
    union all
    (
        select *
        from changed
        where _operation = 'D' and _business_date = date'2026-03-04'
        order by `id` asc nulls last, _key_hash asc nulls last
        limit 5
    )
)

select
    sampled._operation,
    sampled._business_date,
    to_json(sampled._changed_columns) as _changed_columns,
    to_json(named_struct('id', sampled.`id`), map('ignoreNullFields', 'false')) as _key,
    case
        when sampled._operation = 'U'
            and before._key_hash is not null then to_json(named_struct('id', before.`id`, 'full name', before.`full name`, 'balance', before.`balance`, 'loaded_at', before.`loaded_at`), map('ignoreNullFields', 'false'))
        when sampled._operation = 'D' then to_json(named_struct('id', sampled.`id`, 'full name', sampled.`full name`, 'balance', sampled.`balance`, 'loaded_at', sampled.`loaded_at`), map('ignoreNullFields', 'false'))
    end as _old,
    if(sampled._operation <> 'D', to_json(named_struct('id', sampled.`id`, 'full name', sampled.`full name`, 'balance', sampled.`balance`, 'loaded_at', sampled.`loaded_at`), map('ignoreNullFields', 'false')), null) as _new
from sampled
left join (
    select * from existing
) as before on sampled._key_hash = before._key_hash and sampled._operation = 'U'
order by array_position(array('I', 'U', 'D'), sampled._operation) asc nulls last,
    sampled.`id` asc nulls last, sampled._key_hash asc nulls last
