select count(*)
from classified as deleted
left semi join (
    select _key_hash
    from shop.customers__log
    where _business_date = date'2026-03-04' and _operation = 'D' and _superseded_by is null
) as known_deletes on deleted._key_hash = known_deletes._key_hash
where deleted._operation = 'D'
