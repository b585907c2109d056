select
    _key_hash,
    _business_date,
    cast(`id` as string) as `id`,
    cast(`full name` as string) as `full name`,
    cast(`phone` as string) as `phone`,
    cast(`balance` as string) as `balance`,
    cast(`loaded_at` as string) as `loaded_at`
from shop.people__log
where
    _key_hash in ('0a', 'b\'')
    and _business_date < date'2026-03-04'
    and _superseded_by is null
