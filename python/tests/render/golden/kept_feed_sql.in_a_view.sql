select
    `_key_hash`,
    `_commit_id`
from shop.customers_feed
where
    _commit_id > 0
