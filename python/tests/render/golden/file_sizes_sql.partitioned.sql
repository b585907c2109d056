select
    partition_value,
    count(*) as file_count,
    count_if(file_size < 0.75 * 134217728) as small_count,
    coalesce(sum(file_size), 0) as byte_count
from (
    select
        cast(`_business_date` as string) as partition_value,
        _metadata.file_path as file_path,
        max(_metadata.file_size) as file_size
    from shop.customers__log
    group by partition_value, file_path
)
group by partition_value
order by small_count desc nulls last, partition_value desc nulls last
