select
    concat_ws(', ', coalesce(cast(`id` as string), 'NULL')) as _tidemark_key,
    _key_hash,
    to_json(_changed_columns) as _changed_columns,
    cast(`id` as string) as `id`,
    cast(`full name` as string) as `full name`,
    cast(`phone` as string) as `phone`,
    cast(`balance` as string) as `balance`,
    cast(`loaded_at` as string) as `loaded_at`
from (
    select *
    from shop.people__log
    where _business_date = date'2026-03-04' and _operation = 'U' and _superseded_by is null
    order by `id`, `_key_hash`
    limit 5
)
