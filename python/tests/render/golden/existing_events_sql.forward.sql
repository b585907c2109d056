select
    existing.`id`,
    existing.`full name`,
    existing.`phone`,
    existing.`balance`,
    existing._key_hash,
    'base' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    struct(coalesce(existing._sequence_num, -9223372036854775807) as sequence, coalesce(cast(null as bigint), -9223372036854775807) as batch, coalesce(cast(null as bigint), -9223372036854775807) as line, 1 as tie, coalesce('', '') as event) as _tidemark_order,
    cast(null as string) as _source_operation,
    cast(null as string) as _event_id,
    cast(null as bigint) as _sequence_num,
    cast(null as timestamp) as _event_time,
    cast(null as string) as _transaction_id,
    cast(null as string) as _offset,
    cast(null as string) as _moved_from
from (
    select
        `id`,
        `full name`,
        `phone`,
        `balance`,
        _key_hash,
        _row_hash,
        _sequence_num
    from shop.customers_of_events
    where _operation <> 'D'
) as existing
