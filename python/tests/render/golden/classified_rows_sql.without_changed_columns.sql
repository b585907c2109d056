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
        before.`id` as `_tidemark_before_id`,
        after.`full name` as `full name`,
        before.`full name` as `_tidemark_before_full name`,
        after.`phone` as `phone`,
        before.`phone` as `_tidemark_before_phone`,
        after.`balance` as `balance`,
        before.`balance` as `_tidemark_before_balance`,
        after.`loaded_at` as `loaded_at`,
        before.`loaded_at` as `_tidemark_before_loaded_at`,
        after._reject_reason,
        after._raw_payload,
        coalesce(after._tidemark_copies, 0) as _tidemark_copies,
        coalesce(after._key_hash, before._key_hash) as _key_hash,
        after._row_hash as _row_hash,
        before._row_hash as _tidemark_row_hash_before,
        if(before._key_hash is not null and coalesce(after._tidemark_copy, 1) = 1, 1, 0) as _tidemark_existing,
        case
            when after._tidemark_rejected then 'R'
            when before._key_hash is null then 'I'
            when after._key_hash is null then 'D'
            when after._row_hash = before._row_hash then 'N'
            else 'U'
        end as _operation,
        cast(null as array<string>) as _changed_columns
    from arrived_rows as after
    full outer join existing as before
        on after._key_hash = before._key_hash
)

select
    case when _operation in ('I', 'U') then `id`
        when _operation = 'D' then `_tidemark_before_id` end as `id`,
    case when _operation in ('I', 'U') then `full name`
        when _operation = 'D' then `_tidemark_before_full name` end as `full name`,
    case when _operation in ('I', 'U') then `phone`
        when _operation = 'D' then `_tidemark_before_phone` end as `phone`,
    case when _operation in ('I', 'U') then `balance`
        when _operation = 'D' then `_tidemark_before_balance` end as `balance`,
    case when _operation in ('I', 'U') then `loaded_at`
        when _operation = 'D' then `_tidemark_before_loaded_at` end as `loaded_at`,
    _key_hash,
    if(_operation = 'D', _tidemark_row_hash_before, _row_hash) as _row_hash,
    _operation,
    date'2026-03-04' as _business_date,
    date'2026-03-04' as _eff_start_date,
    if(_operation = 'U', _changed_columns, null) as _changed_columns,
    case when _operation = 'R' then coalesce(_reject_reason, 'duplicate_key') end as _reject_reason,
    case
        when _operation = 'R' then coalesce(_raw_payload, to_json(named_struct('id', labelled_rows.`id`, 'full name', labelled_rows.`full name`, 'phone', labelled_rows.`phone`, 'balance', labelled_rows.`balance`, 'loaded_at', labelled_rows.`loaded_at`), map('ignoreNullFields', 'false')))
    end as _raw_payload,
    _tidemark_copies,
    _tidemark_existing
from labelled_rows
where _operation <> 'N' or _tidemark_copies > 1
