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
)

select
    failure.reason,
    count(*) as count,
    min(failure.value) as value
from (
    select explode(array(
        cast(null as struct<reason: string, value: string>),
        case
            when `id` is null and nullif(trim(_tidemark_arrived_1), '') is not null
                then named_struct('reason', 'cast_failed: id', 'value', cast(_tidemark_arrived_1 as string))
            when `id` is null
                then named_struct('reason', 'null_key: id', 'value', cast(null as string))
        end,
        case
            when `balance` is null and nullif(trim(_tidemark_arrived_4), '') is not null
                then named_struct('reason', 'cast_failed: balance', 'value', cast(_tidemark_arrived_4 as string))
        end,
        case
            when `loaded_at` is null and nullif(trim(_tidemark_arrived_5), '') is not null
                then named_struct('reason', 'cast_failed: loaded_at', 'value', cast(_tidemark_arrived_5 as string))
        end
    )) as failure
    from typed_rows
    where not coalesce(_tidemark_unreadable is not null, false)
)
where failure is not null
group by failure.reason
