select *
from shop.customers_in_sequence__rejects
where _commit_id >= 0 and _resolved_by is null
