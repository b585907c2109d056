/* tidemark shred shop.atomic_events iglu:com.acme/product/jsonschema/1-2-% */
select
    `schema`,
    data,
    hierarchy,
    field,
    position,
    _commit_id
from shop.atomic_events__entities
where
    vendor = 'com.acme'
    and name = 'product'
    and model = 1
    and `schema`.format = 'jsonschema'
    and split_part(`schema`.version, '-', 2) = '2'
