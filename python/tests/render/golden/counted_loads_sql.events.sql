select
    relation,
    business_date,
    max(commit_id) as commit_id,
    sum(rows_inserted) as rows_inserted,
    sum(rows_updated) as rows_updated,
    sum(rows_deleted) as rows_deleted,
    sum(rows_rejected) as rows_rejected
from shop.tidemark_commits
where
    relation = 'shop.customers'
    and state = 'completed' and kind = 'load' and business_date is not null
group by relation, business_date
