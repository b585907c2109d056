select
    _business_date,
    count_if(_supersedes is null) as rows_logged,
    count_if(_supersedes is not null) as rows_superseded
from changes
where _business_date <> date'2026-03-04'
group by _business_date
order by _business_date asc nulls last
