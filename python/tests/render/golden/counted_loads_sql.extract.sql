select
    relation,
    business_date,
    max(commit_id) as commit_id,
    max_by(rows_inserted, commit_id) as rows_inserted,
    max_by(rows_updated, commit_id) as rows_updated,
    max_by(rows_deleted, commit_id) as rows_deleted,
    max_by(rows_rejected, commit_id) as rows_rejected
from shop.tidemark_commits
where
    relation = 'shop.customers'
    and state = 'completed' and kind = 'load' and business_date is not null
group by relation, business_date
