select
    relation,
    source_relation,
    unix_micros(min(started_at)) as began_micros
from shop.tidemark_commits
where kind in ('scd2', 'feed') and source_relation is not null
group by relation, source_relation
order by relation asc nulls last, source_relation asc nulls last
