select distinct
    relation,
    source_relation
from shop.tidemark_commits
where kind in ('scd2', 'feed') and source_relation is not null
order by relation asc nulls last, source_relation asc nulls last
