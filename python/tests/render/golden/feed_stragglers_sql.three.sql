select
    relation,
    commit_id,
    is_wanted,
    is_shared
from (
    select
        *,
        count(*) over (partition by commit_id) > 1 as is_shared
    from (
        select distinct
            relation,
            commit_id,
            case relation
                when 'shop.a'
                    then (commit_id > 5 or commit_id > 4) and not (commit_id > 7)
                when 'shop.b'
                    then (commit_id > 9) and not (commit_id > 12)
                when 'shop.c'
                    then (commit_id > 0)
            end as is_wanted
        from shop.tidemark_commits
        where
            relation in ('shop.a', 'shop.b', 'shop.c')
            and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback')
            and commit_id <= 12
    )
)
where is_wanted != (commit_id > 9)
order by commit_id asc nulls last, relation asc nulls last
