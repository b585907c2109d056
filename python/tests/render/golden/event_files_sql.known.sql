with present as (
    select
        _metadata.file_path as _file,
        _metadata.file_size as _file_size,
        _metadata.file_modification_time as _file_time
    from binaryfile.`/lake/shop`
    where not endswith(_metadata.file_name, '.tmp')
),

read_before as (
    select
        _file,
        max(_file_number) as _file_number,
        max_by(struct(_is_whole, _file_size, _file_time), _commit_id) as _last
    from shop.customers_of_events__landed
    group by _file
)

select
    present.*,
    read_before._file_number,
    coalesce((select max(numbered._file_number) from read_before as numbered), -1) as _last_number
from present
left join read_before on present._file = read_before._file
where
    read_before._last is null
    or not read_before._last._is_whole
    or read_before._last._file_size <> present._file_size
    or read_before._last._file_time <> present._file_time
order by present._file asc nulls last
