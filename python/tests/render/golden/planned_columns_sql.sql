select
    column_name,
    count(*) as row_count
from (
    select explode(_changed_columns) as column_name
    from changes
    where _operation = 'U' and _supersedes is null
)
group by column_name
order by row_count desc nulls last, column_name asc nulls last
