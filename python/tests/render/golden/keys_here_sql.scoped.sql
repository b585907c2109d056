select
    count_if(here._operation = 'I') as inserted,
    count_if(here._operation = 'D' and found._operation is not null) as deleted,
    count_if(here._operation = 'D' and found._operation <=> 'D') as deleted_again,
    count_if(here._operation = 'I' and found._operation is null) as gone
from (
    select
        _key_hash,
        _operation
    from shop.customers__log
    where _business_date = date'2026-03-04' and _operation in ('I', 'D')
        and _superseded_by is null
) as here
left outer join (
    select
        _key_hash,
        _operation
    from classified
    where _operation <> 'R'
) as found on here._key_hash = found._key_hash
