select 1
from shop.customers_in_sequence__log
where _superseded_by is null
group by _key_hash, _sequence_by
having count(distinct _event_id) > 1 or max(_operation = 'T')
limit 1
