select
    unix_micros(min(started_at) filter (where commit_id = 7)) as own_micros,
    unix_micros(min(started_at) filter (
        where (source_commit_id >= 7
            and source_relation in ('shop.a', 'shop.b'))
        or from_json(details,
            'read map<string, bigint>').read['shop.a'] >= 7
        or from_json(details,
            'read map<string, bigint>').read['shop.b'] >= 7
    )) as brought_micros
from shop.tidemark_commits
where
    kind = 'feed'
    and state = 'completed'
    and relation = 'shop.both'
