select
    current.`id`,
    current.`full name`,
    current.`phone`,
    current.`balance`,
    current._key_hash
from shop.customers_of_events as current
left anti join (
    select _key_hash
    from changes
    where _key_hash is not null and _operation in ('I', 'U', 'D')
    group by _key_hash
    having count(*) > 1
) as changed_often on current._key_hash = changed_often._key_hash
