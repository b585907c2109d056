with extract_rows as (
    select * from arrived
),

typed_rows as (
    select
        try_cast(nullif(trim(extract_rows.`id`), '') as bigint) as `id`,
        extract_rows.`full name` as `full name`,
        extract_rows.`phone` as `phone`,
        try_cast(nullif(trim(extract_rows.`balance`), '') as decimal(10,2)) as `balance`,
        try_cast(if(instr(trim(nullif(trim(extract_rows.`loaded_at`), '')), ':') between 1 and 4, null, nullif(trim(extract_rows.`loaded_at`), '')) as timestamp) as `loaded_at`,
        extract_rows.`id` as _tidemark_arrived_1,
        extract_rows.`full name` as _tidemark_arrived_2,
        extract_rows.`phone` as _tidemark_arrived_3,
        extract_rows.`balance` as _tidemark_arrived_4,
        extract_rows.`loaded_at` as _tidemark_arrived_5,
        extract_rows._unreadable as _tidemark_unreadable
    from extract_rows
),

judged_rows as (
    select
        *,
        case
            when _tidemark_unreadable is not null then 'unreadable'
            when `id` is null and nullif(trim(_tidemark_arrived_1), '') is not null then 'cast_failed: id'
            when `id` is null then 'null_key: id'
            when `balance` is null and nullif(trim(_tidemark_arrived_4), '') is not null then 'cast_failed: balance'
            when `loaded_at` is null and nullif(trim(_tidemark_arrived_5), '') is not null then 'cast_failed: loaded_at'
        end as _reject_reason
    from typed_rows
)

select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `loaded_at`,
    concat(md5(concat_ws('',
        concat('2:id', octet_length(cast(`id` as string)), ':', cast(`id` as string))
    )), case when _reject_reason is null or _reject_reason in ('cast_failed: balance', 'cast_failed: loaded_at') then '' end) as _key_hash,
    concat(md5(concat_ws('',
        concat('9:full name', octet_length(`full name`), ':', `full name`),
        concat('5:phone', octet_length(`phone`), ':', `phone`),
        concat('7:balance', octet_length(trim(trailing '.' from trim(trailing '0' from cast(`balance` as string)))), ':', trim(trailing '.' from trim(trailing '0' from cast(`balance` as string))))
    )), case when _reject_reason is null then '' end) as _row_hash,
    _reject_reason,
    case when _reject_reason is not null then if(_tidemark_unreadable is not null, _tidemark_unreadable, to_json(named_struct('id', judged_rows.`_tidemark_arrived_1`, 'full name', judged_rows.`_tidemark_arrived_2`, 'phone', judged_rows.`_tidemark_arrived_3`, 'balance', judged_rows.`_tidemark_arrived_4`, 'loaded_at', judged_rows.`_tidemark_arrived_5`), map('ignoreNullFields', 'false'))) end as _raw_payload
from judged_rows
