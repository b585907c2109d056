select
    * except (`full name`, `loaded_at`),
    cast(`full name` as string) as `full name`,
    cast(null as int)
        as `new one`,
    cast(null as date)
        as `loaded_at`
from shop.customers
