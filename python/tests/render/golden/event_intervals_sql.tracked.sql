with changes as (
    select
        *,
        _business_date as _tidemark_time,
        struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(_batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, case when _source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when _source_operation in ('DELETE', 'MOVE_OUT') then 2 when _source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(_event_id, '') as event) as _tidemark_order,
        md5(concat_ws('',
            concat('9:full name', octet_length(`full name`), ':', `full name`),
            concat('5:phone', octet_length(`phone`), ':', `phone`)
        )) as _tidemark_tracked
    from (
        select
            * except (_operation),
            if(_operation = 'N', if(_row_hash is null, 'D', 'U'), _operation) as _operation,
            _operation = 'N' as _tidemark_is_same
        from (
            select * except (_tidemark_before_it)
            from (
                select
                    *,
                    lag(_source_operation)
                        over (partition by _key_hash
                            order by struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(_batch_id as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, case when _source_operation in ('TRUNCATE', 'ADD_COLUMN') then 0 when _source_operation in ('DELETE', 'MOVE_OUT') then 2 when _source_operation = 'SNAPSHOT' then 3 else 1 end as tie, coalesce(_event_id, '') as event) asc nulls first) as _tidemark_before_it
                from (
                    select
                        log.*,
                        sensitive.`phone`
                    from shop.customers_apart__log as log
                    left join shop.customers_apart__sensitive as sensitive
                        on
                            log._key_hash = sensitive._key_hash
                            and log._business_date = sensitive._business_date
                            and log._commit_id = sensitive._commit_id
                            and log._event_id = sensitive._event_id
                )
                where _superseded_by is null and _operation in ('I', 'U', 'D', 'N') and _key_hash is not null
            )
            where not (_operation = 'N' and _row_hash is null and coalesce(_tidemark_before_it = 'MOVE_IN', false))
        )
    )
    where _superseded_by is null and _operation in ('I', 'U', 'D')
),

in_time as (
    select
        *,
        lead(struct(_tidemark_time)) over (partition by _key_hash order by _tidemark_time asc nulls first, _tidemark_order asc nulls first) <=> struct(_tidemark_time) as _tidemark_is_followed
    from (
        select
            *,
            max(_tidemark_order)
                over (partition by _key_hash order by _tidemark_time asc nulls first, _tidemark_order asc nulls first rows between unbounded preceding and current row) as _tidemark_greatest
        from changes
    )
    where _tidemark_order = _tidemark_greatest
),

versions as (
    select
        *,
        count_if(_tidemark_is_new)
            over (partition by _key_hash order by _tidemark_time asc nulls first, _tidemark_order asc nulls first rows between unbounded preceding and current row) as _tidemark_version
    from (
        select
            *,
            not coalesce(
                (_operation = 'D') = (lag(_operation) over (partition by _key_hash order by _tidemark_time asc nulls first, _tidemark_order asc nulls first) = 'D')
                and (_operation = 'D' or lag(_tidemark_tracked) over (partition by _key_hash order by _tidemark_time asc nulls first, _tidemark_order asc nulls first) = _tidemark_tracked),
                    false
            ) as _tidemark_is_new
        from in_time
        where not _tidemark_is_followed
    )
),

last_rows as (
    select
        *,
        if(
            bool_or(_tidemark_time is null) over (partition by _key_hash, _tidemark_version),
            null,
            min(_tidemark_time) over (partition by _key_hash, _tidemark_version)
        ) as _valid_from,
        row_number() over (
            partition by _key_hash, _tidemark_version
            order by _tidemark_order desc nulls last
        ) as _tidemark_rank
    from versions
)

select
    * except (
        _operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _batch_id,
            _source_operation, _event_id,
        _transaction_id, _offset, _unsupplied, _moved_from, _valid_from, _valid_to, _tidemark_time,
            _tidemark_order,
        _tidemark_tracked, _tidemark_greatest, _tidemark_is_followed, _tidemark_is_new, _tidemark_version,
            _tidemark_rank, _tidemark_is_same, `phone`
    ),
    _valid_from,
    _valid_to,
    _valid_to is null as _is_current
from (
    select
        *,
        lead(_valid_from) over (partition by _key_hash
            order by _tidemark_version asc nulls first) as _valid_to
    from last_rows
    where _tidemark_rank = 1
)
where _operation <> 'D'
