with extract_rows as (
    select * from arrived
),

typed_rows as (
    select
        try_cast(nullif(trim(extract_rows.`id`), '') as bigint) as `id`,
        extract_rows.`full name` as `full name`,
        extract_rows.`phone` as `phone`,
        try_cast(nullif(trim(extract_rows.`balance`), '') as decimal(10,2)) as `balance`,
        try_cast(nullif(trim(extract_rows.`loaded_at`), '') as timestamp) as `loaded_at`,
        case
            when extract_rows._unreadable is not null then 'unreadable'
            when nullif(trim(extract_rows.`id`), '') is not null and try_cast(nullif(trim(extract_rows.`id`), '') as bigint) is null then 'cast_failed: id'
            when try_cast(nullif(trim(extract_rows.`id`), '') as bigint) is null then 'null_key: id'
            when nullif(trim(extract_rows.`balance`), '') is not null and try_cast(nullif(trim(extract_rows.`balance`), '') as decimal(10,2)) is null then 'cast_failed: balance'
            when nullif(trim(extract_rows.`loaded_at`), '') is not null and try_cast(nullif(trim(extract_rows.`loaded_at`), '') as timestamp) is null then 'cast_failed: loaded_at'
        end as _reject_reason,
        if(extract_rows._unreadable is not null, extract_rows._unreadable, to_json(named_struct('id', extract_rows.`id`, 'full name', extract_rows.`full name`, 'phone', extract_rows.`phone`, 'balance', extract_rows.`balance`, 'loaded_at', extract_rows.`loaded_at`), map('ignoreNullFields', 'false'))) as _tidemark_arrived
    from extract_rows
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
    case when _reject_reason is not null then _tidemark_arrived end as _raw_payload
from typed_rows
