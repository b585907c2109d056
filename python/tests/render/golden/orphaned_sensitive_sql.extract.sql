select
    sensitive.`_key_hash`,
    sensitive.`_business_date`,
    sensitive.`_commit_id`
from shop.customers__sensitive as sensitive
left anti join shop.customers__log as log
    on sensitive._key_hash <=> log._key_hash and sensitive._business_date <=> log._business_date and sensitive._commit_id <=> log._commit_id
where sensitive._commit_id <= 260304093000123
