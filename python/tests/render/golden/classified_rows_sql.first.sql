with numbered_rows as (
    select
        staged.*,
        row_number() over (partition by staged._key_hash order by cast(unix_micros(staged.`loaded_at`) as string) desc nulls last) as _tidemark_copy,
        count(*) over (partition by staged._key_hash order by cast(unix_micros(staged.`loaded_at`) as string) desc nulls last rows between unbounded preceding and unbounded following) as _tidemark_copies,
        staged._key_hash is null
        or max(staged._reject_reason is not null) over (partition by staged._key_hash order by cast(unix_micros(staged.`loaded_at`) as string) desc nulls last rows between unbounded preceding and unbounded following)
        or max(staged._row_hash) over (partition by staged._key_hash order by cast(unix_micros(staged.`loaded_at`) as string) desc nulls last rows between unbounded preceding and unbounded following) <> min(staged._row_hash)
            over (partition by staged._key_hash order by cast(unix_micros(staged.`loaded_at`) as string) desc nulls last rows between unbounded preceding and unbounded following) as _tidemark_rejected
    from staged as staged
),

arrived_rows as (
    select * from numbered_rows
    where _tidemark_copy = 1 or _tidemark_rejected
),

labelled_rows as (
    select
        after.`id` as `id`,
        after.`full name` as `full name`,
        after.`phone` as `phone`,
        after.`balance` as `balance`,
        after.`loaded_at` as `loaded_at`,
        after._reject_reason,
        after._raw_payload,
        coalesce(after._tidemark_copies, 0) as _tidemark_copies,
        after._key_hash,
        after._row_hash,
        0 as _tidemark_existing,
        if(after._tidemark_rejected, 'R', 'I') as _operation,
        cast(null as array<string>) as _changed_columns
    from arrived_rows as after
)

select
    if(_operation = 'I', `id`, null) as `id`,
    if(_operation = 'I', `full name`, null) as `full name`,
    if(_operation = 'I', `phone`, null) as `phone`,
    if(_operation = 'I', `balance`, null) as `balance`,
    if(_operation = 'I', `loaded_at`, null) as `loaded_at`,
    _key_hash,
    _row_hash as _row_hash,
    _operation,
    date'2026-03-04' as _business_date,
    date'2026-03-04' as _eff_start_date,
    _changed_columns as _changed_columns,
    case when _operation = 'R' then coalesce(_reject_reason, 'duplicate_key') end as _reject_reason,
    case
        when _operation = 'R' then coalesce(_raw_payload, to_json(named_struct('id', labelled_rows.`id`, 'full name', labelled_rows.`full name`, 'phone', labelled_rows.`phone`, 'balance', labelled_rows.`balance`, 'loaded_at', labelled_rows.`loaded_at`), map('ignoreNullFields', 'false')))
    end as _raw_payload,
    _tidemark_copies,
    _tidemark_existing
from labelled_rows
