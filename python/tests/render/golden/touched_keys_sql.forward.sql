select distinct _key_hash
from shop.customers__log
where
    _business_date = date'2026-03-04'
    and _commit_id = 260304093000123
    and _key_hash is not null
limit 33
