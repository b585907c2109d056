with changed_keys as (
    select
        _key_hash,
        _operation
    from classified
    where _operation in ('I', 'U', 'D')
),

arrived_rows as (
    select
        staged.*,
        row_number() over (
            partition by staged._key_hash
            order by cast(unix_micros(staged.`loaded_at`) as string) desc nulls last
        ) as _tidemark_copy
    from staged as staged
    inner join changed_keys on staged._key_hash = changed_keys._key_hash
    where changed_keys._operation in ('I', 'U')
),

rows_before as (
    select existing.*
    from existing as existing
    inner join changed_keys on existing._key_hash = changed_keys._key_hash
    where changed_keys._operation in ('U', 'D')
)

select
    if(changed_keys._operation = 'D', before.`id`, after.`id`) as `id`,
    if(changed_keys._operation = 'D', before.`full name`, after.`full name`) as `full name`,
    if(changed_keys._operation = 'D', before.`phone`, after.`phone`) as `phone`,
    if(changed_keys._operation = 'D', before.`balance`, after.`balance`) as `balance`,
    if(changed_keys._operation = 'D', before.`loaded_at`, after.`loaded_at`) as `loaded_at`,
    changed_keys._key_hash,
    if(changed_keys._operation = 'D', before._row_hash, after._row_hash) as _row_hash,
    changed_keys._operation,
    date'2026-03-04' as _business_date,
    date'2026-03-04' as _eff_start_date,
    cast(null as array<string>) as _changed_columns
from changed_keys
left join arrived_rows as after
    on changed_keys._key_hash = after._key_hash and after._tidemark_copy = 1
left join rows_before as before
    on changed_keys._key_hash = before._key_hash
