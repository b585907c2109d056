select
    * except (_operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _valid_from,
        _valid_to),
    _valid_from,
    coalesce(_valid_to, timestamp'9999-12-31') as _valid_to,
    _valid_to is null as _is_current
from (
    select
        *,
        lead(_valid_from) over (partition by _key_hash
            order by _business_date asc nulls last) as _valid_to
    from (
        select
            *,
            aggregate(
                collect_list(struct(
                    cast(_business_date as timestamp) as observed,
                    case when _operation <> 'D'
                        then cast(`loaded_at` as timestamp) end as told
                )) over (
                    partition by _key_hash
                    order by _business_date asc nulls last
                    rows between unbounded preceding and current row
                ),
                cast(null as timestamp),
                (begun, version) -> case
                    when begun is null then coalesce(version.told, version.observed)
                    when version.told > begun then version.told
                    else greatest(begun, version.observed)
                end
            ) as _valid_from
        from shop.customers__log
        where _superseded_by is null
    )
)
where
    (_valid_to is null or _valid_from < _valid_to)
    and _operation <> 'D'
