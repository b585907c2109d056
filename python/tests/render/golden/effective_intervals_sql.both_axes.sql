select
    * except (_operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _valid_from,
        _valid_to),
    _valid_from,
    _valid_to,
    _valid_to is null as _is_current
from (
    select
        *,
        lead(_valid_from) over (partition by _key_hash, _tidemark_known_from
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
                    partition by _key_hash, _tidemark_known_from
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
        from (
            with spans as (
                select
                    _key_hash,
                    min(moment) as _tidemark_known_from,
                    max(moment) as _tidemark_last,
                    lead(min(moment)) over (partition by _key_hash order by min(moment) asc nulls last) as _tidemark_known_to
                from (
                    select
                        _key_hash,
                        moment,
                        count_if(begins) over (
                            partition by _key_hash order by moment asc nulls last
                            rows between unbounded preceding and current row
                        ) as span
                    from (
                        select
                            _key_hash,
                            moment,
                            bool_or(begins) as begins
                        from (
                            select
                                _key_hash,
                                _commit_id as moment,
                                true as begins
                            from shop.customers__log
                            where _key_hash is not null
                            union all
                            select
                                _key_hash,
                                _superseded_by as moment,
                                true as begins
                            from shop.customers__log
                            where _key_hash is not null and _superseded_by is not null
                        )
                        group by _key_hash, moment
                    )
                )
                group by _key_hash, span
            )

            select
                log.*,
                struct(log.`_key_hash`, log.`_business_date`, log.`_commit_id`) as _tidemark_row,
                spans._tidemark_known_from,
                spans._tidemark_known_to
            from (select * from shop.customers__log) as log
            inner join spans
                on
                    log._key_hash = spans._key_hash
                    and log._commit_id <= spans._tidemark_last and (log._superseded_by is null or log._superseded_by > spans._tidemark_last)
        )
    )
)
where
    (_valid_to is null or _valid_from < _valid_to)
    and _operation <> 'D'
