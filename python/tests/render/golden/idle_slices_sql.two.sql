select slice_name
from (
    select 'customers__log' as slice_name, max(_metadata.file_modification_time) as written_at from shop.customers__log
    union all
    select 'customers' as slice_name, max(_metadata.file_modification_time) as written_at from shop.customers
)
cross join (select max(_metadata.file_modification_time) as this_moment from shop.customers__rejects)
where coalesce(written_at < this_moment - interval 1 day, true)
