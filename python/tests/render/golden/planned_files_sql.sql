select count(distinct current._metadata.file_path) as file_count
from shop.customers as current
left semi join (
    select _key_hash
    from changes
    where _operation in ('U', 'D') or _supersedes is not null
) as touched on current._key_hash = touched._key_hash
