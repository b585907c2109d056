select
    `id`,
    `full name`
from (
    select
        *,
        cast(`dbt_valid_from` as date) as _tidemark_from,
        if(cast(`dbt_valid_to` as date) >= date'9000-01-01', null,
            date_add(cast(`dbt_valid_to` as date), 1)) as _tidemark_to
    from shop.people_snapshot
)
where _tidemark_from <= date'2026-03-04'
    and (_tidemark_to is null or _tidemark_to > date'2026-03-04')
