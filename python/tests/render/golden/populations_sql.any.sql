select distinct commit_id
from shop.tidemark_commits
where
    relation = 'shop.atomic_events'
    and kind = 'populate_manifest'
    and get_json_object(details,
        '$.from') = 'shop.atomic_events'
order by commit_id asc nulls last
