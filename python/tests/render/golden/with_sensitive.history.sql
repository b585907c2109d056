select
    stored.*,
    sensitive.* except (_key_hash, _row_hash, _business_date, _commit_id)
from shop.customers__history as stored
left join shop.customers__sensitive as sensitive
    on
        stored._key_hash <=> sensitive._key_hash
        and stored._business_date <=> sensitive._business_date
        and stored._commit_id <=> sensitive._commit_id
