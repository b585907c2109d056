select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `loaded_at`,
    _key_hash,
    _row_hash
from shop.people
where _operation <> 'D'
