with present as (
    select
        _metadata.file_path as _file,
        _metadata.file_size as _file_size,
        _metadata.file_modification_time as _file_time
    from binaryfile.`/lake/shop`
    where not endswith(_metadata.file_name, '.tmp')
),

present_and_landed as (
    select
        *,
        cast(null as bigint) as _file_number,
        cast(null as struct<_is_whole: boolean, _file_size: bigint, _file_time: timestamp,
            _file_number: bigint>) as _read_before,
        cast(null as bigint) as _commit_id
    from present
    union all
    select
        _file,
        cast(null as bigint),
        cast(null as timestamp),
        _file_number,
        struct(_is_whole, _file_size, _file_time, _file_number),
        _commit_id
    from shop.customers_of_events__landed
),

files as (
    select
        _file,
        max(_file_size) as _file_size,
        max(_file_time) as _file_time,
        min(_file_number) as _file_number,
        coalesce(max(max(_file_number)) over (), -1) as _last_number,
        max_by(_read_before, if(_read_before is null, null, _commit_id)) as _last,
        collect_list(_file_number) as _numbers
    from present_and_landed
    group by _file
)

select
    _file,
    _file_size,
    unix_micros(_file_time) as _file_micros,
    _file_number,
    _last_number,
    coalesce(
        array_min(filter(_numbers, number -> number > coalesce(_last._file_number, -1))),
        if(_last._is_whole, null, _last._file_number)
    ) as _owed_number
from files
where
    _file_size is not null
    and (_last is null or not _last._is_whole or _last._file_size <> _file_size
        or _last._file_time <> _file_time)
order by _file asc nulls last
