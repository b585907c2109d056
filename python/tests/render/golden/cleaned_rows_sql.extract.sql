with known_rows as (
    select
        log._key_hash,
        log._business_date,
        log._commit_id,
        log._superseded_by,
        log._operation,
        log._business_date as _tidemark_order
    from shop.customers__log as log
    where log._key_hash is not null
),

judged_rows as (
    select
        *,
        max(if(
            _superseded_by is null and _commit_id <= 260304093000123, _tidemark_order, null
        )) over (partition by _key_hash) as _tidemark_anchor,
        max_by(if(_superseded_by is null, _operation, null), if(_superseded_by is null, _tidemark_order, null))
            over (partition by _key_hash) = 'D'
        and max(_commit_id) over (partition by _key_hash) <= 260304093000123
        and coalesce(max(_superseded_by) over (partition by _key_hash), 0) <= 260304093000123 as _is_gone
    from known_rows
)

select
    _key_hash,
    _business_date,
    _commit_id
from judged_rows
where
    _superseded_by is null
    and _commit_id <= 260304093000123
    and (_tidemark_order < _tidemark_anchor or _is_gone)
