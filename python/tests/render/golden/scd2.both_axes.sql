select
    * except (`_is_current`, _tidemark_row, _tidemark_known_from, _tidemark_known_to,
        _tidemark_is_first, _tidemark_is_last),
    _tidemark_known_from as _known_from,
    _tidemark_known_to as _known_to,
    `_is_current` and _tidemark_known_to is null as `_is_current`
from (
    select
        * except (_tidemark_known_to),
        if(_tidemark_is_last, _tidemark_known_to,
            lead(_tidemark_known_to) over (partition by _key_hash, _tidemark_row, `_valid_from`, `_valid_to` order by _tidemark_known_from asc nulls last)) as _tidemark_known_to
    from (
        select
            *,
            not coalesce(lag(_tidemark_known_to) over (partition by _key_hash, _tidemark_row, `_valid_from`, `_valid_to` order by _tidemark_known_from asc nulls last) = _tidemark_known_from,
                false) as _tidemark_is_first,
            not coalesce(lead(_tidemark_known_from) over (partition by _key_hash, _tidemark_row, `_valid_from`, `_valid_to` order by _tidemark_known_from asc nulls last) = _tidemark_known_to,
                false) as _tidemark_is_last
        from (
            select
                * except (_operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _valid_to),
                _business_date as _valid_from,
                _valid_to,
                _valid_to is null as _is_current,
                _operation = 'D' as _is_deleted
            from (
                select
                    * except (_valid_to, _tidemark_known_from, _tidemark_known_to, _tidemark_closed_by, _tidemark_is_open),
                    if(_tidemark_is_open, null, _valid_to) as _valid_to,
                    if(_tidemark_is_open, _tidemark_known_from,
                        greatest(_tidemark_known_from, _tidemark_closed_by)) as _tidemark_known_from,
                    if(_tidemark_is_open, _tidemark_closed_by, _tidemark_known_to) as _tidemark_known_to
                from (
                    select
                        * except (_tidemark_known_from),
                        greatest(_tidemark_known_from, _commit_id) as _tidemark_known_from,
                        explode(array(true, false)) as _tidemark_is_open
                    from (
                        select
                            *,
                            lead(_business_date) over (partition by _key_hash, _tidemark_known_from order by _business_date asc nulls last) as _valid_to,
                            lead(_commit_id) over (partition by _key_hash, _tidemark_known_from order by _business_date asc nulls last) as _tidemark_closed_by
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
                                                coalesce(
                                                    _business_date <= max(_business_date) over (
                                                        partition by _key_hash order by _commit_id asc nulls last
                                                        range between unbounded preceding and 1 preceding
                                                    ),
                                                    true
                                                ) as begins
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
                where not _tidemark_is_open or _tidemark_closed_by > _tidemark_known_from
            )
        )
    )
    where _tidemark_is_first or _tidemark_is_last
)
where _tidemark_is_first
