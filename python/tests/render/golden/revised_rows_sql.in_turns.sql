with entries as (
    select
        'wanted' as _kind,
        _key_hash,
        _business_date,
        named_struct(
            'commit', cast(null as bigint), 'operation', _operation, 'changed', _changed_columns, 'image',
                struct(`id`, `full name`, `phone`, `balance`, `loaded_at`, `_row_hash`)
        ) as _entry
    from changed
    union all
    select
        'logged' as _kind,
        _key_hash,
        _business_date,
        named_struct(
            'commit', _commit_id, 'operation', _operation, 'changed', _changed_columns, 'image',
                struct(`id`, `full name`, `phone`, `balance`, `loaded_at`, `_row_hash`)
        ) as _entry
    from logged
    union all
    select
        'observed' as _kind,
        _key_hash,
        _business_date,
        null as _entry
    from shop.people__supplied
    where _key_hash is not null and (_business_date, _commit_id) in ((date'2026-03-05', 260304093000121))
    union all
    select
        'observed' as _kind,
        _key_hash,
        _business_date,
        null as _entry
    from shop.people__rejects
    where _key_hash is not null and (_business_date, _commit_id) in ((date'2026-03-06', 260304093000122))
),

dated_entries as (
    select
        *,
        least(min(if(_kind = 'observed' and _business_date in (date'2026-03-05'), _business_date, null)) over (partition by _key_hash), array_min(array_except(array(date'2026-03-06'), collect_set(if(_kind = 'observed', _business_date, null)) over (partition by _key_hash)))) as _next_date
    from entries
),

lives as (
    select
        _key_hash,
        max(_next_date) as _next_date,
        max_by(_entry, _business_date) filter (where _kind = 'wanted') as _wanted,
        max_by(_entry, _business_date)
            filter (where _kind = 'logged' and _business_date < date'2026-03-04') as _before,
        max_by(_entry, _business_date)
            filter (where _kind = 'logged' and _business_date = date'2026-03-04') as _here,
        max_by(_entry, _business_date)
            filter (where _kind = 'logged' and _business_date = _next_date) as _logged_next
    from dated_entries
    group by _key_hash
),

images as (
    select
        *,
        case when _wanted.operation = 'D' then null when _wanted is not null then _wanted.image when _before.operation = 'D' then null when _before is not null then _before.image end as _after,
        case when _logged_next.operation = 'D' then null when _logged_next is not null then _logged_next.image when _here.operation = 'D' then null when _here is not null then _here.image when _before.operation = 'D' then null when _before is not null then _before.image end as _next
    from lives
    where _wanted is not null or _here is not null
),

transitions as (
    select
        *,
        case
            when _next_date is not null and not (_after._row_hash <=> _next._row_hash) then named_struct(
                'commit', cast(null as bigint),
                'operation', case when _after is null then 'I' when _next is null then 'D' else 'U' end,
                'changed', case
                    when _after is not null and _next is not null
                        then array_compact(array(if(_after.`full name` <=> _next.`full name`, null, 'full name'),
                            if(_after.`phone` <=> _next.`phone`, null, 'phone'),
                            if(_after.`balance` <=> _next.`balance`, null, 'balance')))
                end,
                'image', if(_next is null, _after, _next)
            )
        end as _wanted_next
    from images
),

differences as (
    select
        *,
        not (_wanted.operation <=> _here.operation and _wanted.image._row_hash <=> _here.image._row_hash and _wanted.changed <=> _here.changed) as _differs_here,
        not (_wanted_next.operation <=> _logged_next.operation and _wanted_next.image._row_hash <=> _logged_next.image._row_hash and _wanted_next.changed <=> _logged_next.changed) as _differs_next
    from transitions
),

revised as (
    select
        _key_hash,
        inline(array(
            named_struct('_date', date'2026-03-04', '_entry', if(_differs_here, _wanted, null), '_supersedes',
                cast(null as bigint)),
            named_struct('_date', date'2026-03-04', '_entry', null, '_supersedes',
                if(_differs_here, _here.commit, null)),
            named_struct('_date', _next_date, '_entry', if(_differs_next, _wanted_next, null), '_supersedes',
                cast(null as bigint)),
            named_struct('_date', _next_date, '_entry', null, '_supersedes',
                if(_differs_next, _logged_next.commit, null))
        ))
    from differences
)

select
    _entry.image.`id` as `id`,
    _entry.image.`full name` as `full name`,
    _entry.image.`phone` as `phone`,
    _entry.image.`balance` as `balance`,
    _entry.image.`loaded_at` as `loaded_at`,
    _key_hash,
    _entry.image._row_hash as _row_hash,
    _entry.operation as _operation,
    _date as _business_date,
    _date as _eff_start_date,
    _entry.changed as _changed_columns,
    _supersedes
from revised
where _entry is not null or _supersedes is not null
