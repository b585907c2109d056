select
    count_if(read._offset is not null) > 0 as spans_runs,
    coalesce(min(log._sequence_by) < min(if(read._offset is null, null, log._sequence_by)), false) as has_more
from shop.customers_in_sequence__log as log
left join (
    select _offset from staged_in_sequence
    where _is_usable and _is_snapshot and _offset is not null
    union
    select _offset from shop.customers_in_sequence__log
    where _source_operation = 'READ' and _offset is not null and _commit_id >= 260304093000123
        and _superseded_by is null
) as read on log._offset = read._offset and log._source_operation in ('READ', 'INSERT', 'UPSERT')
where log._superseded_by is null and log._operation <> 'T'
