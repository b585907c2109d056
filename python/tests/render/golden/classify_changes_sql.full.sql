with staged_keys as (
    select
        _key_hash,
        min(_row_hash) as _row_hash,
        count(*) as _copies,
        max(_reject_reason is not null) or max(_row_hash) <> min(_row_hash) as _rejected
    from staged
    where _key_hash is not null
    group by _key_hash
),

existing_rows as (
    select
        existing._key_hash,
        existing._row_hash
    from existing as existing
)

select
    coalesce(staged_keys._key_hash, existing_rows._key_hash) as _key_hash,
    case
        when staged_keys._rejected then 'R'
        when existing_rows._key_hash is null then 'I'
        when staged_keys._key_hash is null then 'D'
        when staged_keys._row_hash = existing_rows._row_hash then 'N'
        else 'U'
    end as _operation,
    coalesce(staged_keys._copies, 0) as _copies,
    existing_rows._key_hash is not null as _exists
from staged_keys
full outer join existing_rows on staged_keys._key_hash = existing_rows._key_hash
