select
    commit_id,
    kind,
    state,
    business_date,
    last_sequence_num,
    source_commit_id,
    source_relation,
    rows_read,
    undone_by,
    config
from shop.tidemark_commits
where relation = 'shop.customers'
order by commit_id desc, state_at desc nulls last, state = 'inflight' asc nulls last
limit 500
