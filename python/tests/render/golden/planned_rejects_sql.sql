select
    _reject_reason,
    count(*) as row_count
from customers__rejects_found
where _reject_reason is not null
group by _reject_reason
order by row_count desc nulls last, _reject_reason asc nulls last
