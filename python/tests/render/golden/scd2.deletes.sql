select
    * except (_operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _valid_to),
    _business_date as `since`,
    coalesce(_valid_to, date'9999-12-31') as _valid_to,
    _valid_to is null as _is_current,
    _operation = 'D' as `is gone`
from (
    select
        *,
        lead(_business_date) over (partition by _key_hash order by _business_date asc nulls last) as _valid_to
    from shop.customers__log
    where _superseded_by is null
)
