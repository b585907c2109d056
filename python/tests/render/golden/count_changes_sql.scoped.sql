select
    _operation as operation,
    _reject_reason as reason,
    count(*) as row_count,
    sum(_tidemark_copies) as copies,
    sum(_tidemark_existing) as existing_count,
    sum(_tidemark_in_scope) as in_scope
from classified
group by _operation, _reject_reason
union all
select
    'existing' as operation,
    null as reason,
    0 as row_count,
    0 as copies,
    (select count(*) from existing) as existing_count,
    0 as in_scope
