with versions as (
    select
        *,
        cast(`dbt_valid_from` as date) as _tidemark_from,
        if(cast(`dbt_valid_to` as date) >= date'9000-01-01', null,
            cast(`dbt_valid_to` as date)) as _tidemark_to
    from shop.people_snapshot
    where not coalesce(cast(`dbt_is_deleted` as boolean), false)
)

select distinct string(business_date) as business_date
from (
    select _tidemark_from as business_date from versions where not _tidemark_from <=> _tidemark_to
    union all
    select _tidemark_to as business_date from versions where _tidemark_to > _tidemark_from
)
order by business_date asc nulls last
