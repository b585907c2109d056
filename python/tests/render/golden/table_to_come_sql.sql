select
    * except (`full name`),
    cast(`full name` as string) as `full name`,
    cast(null as int) as `new one`
from shop.customers
where _operation <> 'D'
