select
    count(*) as version_count,
    count_if(_tidemark_to = _tidemark_from) as within_count,
    count_if(_tidemark_from is null) as beginless_count,
    count_if(_tidemark_to < _tidemark_from) as reversed_count,
    count_if(_tidemark_next < coalesce(_tidemark_to, date'9999-12-31')) as overlapping_count,
    min(if(_tidemark_next < coalesce(_tidemark_to, date'9999-12-31'), to_json(struct(`id`)),
        null)) as overlapping_key
from (
    select
        *,
        if(_tidemark_to <=> _tidemark_from, null, lead(_tidemark_from) over (
            partition by `id`, _tidemark_to <=> _tidemark_from order by _tidemark_from asc nulls last
        )) as _tidemark_next
    from (
        select
            *,
            cast(`dbt_valid_from` as date) as _tidemark_from,
            if(cast(`dbt_valid_to` as date) >= date'9000-01-01', null,
                cast(`dbt_valid_to` as date)) as _tidemark_to
        from shop.people_snapshot
        where not coalesce(cast(`dbt_is_deleted` as boolean), false)
    )
)
