select
    relation,
    source_relation,
    bool_or(size(in_run) = 1) as was_alone
from (
    select
        relation,
        source_relation,
        collect_set(source_relation)
            over (partition by relation, invocation_id, substring_index(source_relation, '.', -1))
            as in_run
    from shop.tidemark_commits
    where kind in ('scd2', 'feed') and source_relation is not null
)
group by relation, source_relation
order by relation asc nulls last, source_relation asc nulls last
