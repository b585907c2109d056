select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `loaded_at`,
    _key_hash,
    _row_hash,
    case
        when _reject_reason is not null then _reject_reason
        when not (id > 0) then 'rule: positive'
    end as _reject_reason,
    _raw_payload
from staged
