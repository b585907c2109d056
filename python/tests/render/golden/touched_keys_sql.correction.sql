select distinct _key_hash
from shop.customers__log
where
    (_commit_id = 260304093000123 or _superseded_by = 260304093000123)
    and _key_hash is not null
limit 33
