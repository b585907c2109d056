select count(*) as new_count
from (
    select
        _reject_reason,
        _key_hash,
        _raw_payload
    from (select * from customers__rejects_found)
    except all
    select
        _reject_reason,
        _key_hash,
        _raw_payload
    from shop.people__rejects
    where _commit_id = 260304093000123
)
