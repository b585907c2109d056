select
    relation,
    source_relation,
    max(commit_id) as commit_id,
    max(source_commit_id) as source_commit_id,
    max_by(details, commit_id) as details,
    unix_micros(max_by(started_at, commit_id)) as run_micros
from shop.tidemark_commits
where
    kind = 'feed'
    and state = 'completed'
    and started_at <= timestamp_micros(7)
group by relation, source_relation
