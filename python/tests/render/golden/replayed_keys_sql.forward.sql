with effects as (
    select
        `id`,
        `full name`,
        `phone`,
        `balance`,
        _key_hash,
        _tidemark_effect,
        _unsupplied,
        struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, if(_tidemark_effect = 'delete', 2, 1) as tie, coalesce(_event_id, '') as event) as _tidemark_order,
        cast(null as struct<sequence:bigint,batch:bigint,line:bigint,tie:int,event:string>) as _tidemark_bound,
        case when _tidemark_effect = 'delete' then 'DELETE' when _tidemark_effect = 'upsert' and coalesce(_before_key_hash <> _key_hash, false) then 'MOVE_IN' when _source_operation = 'DELETE' then 'UPDATE' else _source_operation end as _source_operation,
        _event_id,
        _sequence_num,
        _event_time,
        _transaction_id,
        _offset,
        if(_tidemark_effect = 'upsert' and coalesce(_before_key_hash <> _key_hash, false), _before_key_hash, null) as _moved_from
    from staged_events
    where _is_usable and _tidemark_effect in ('upsert', 'delete')
    union all
    select
        `_before_id`,
        cast(null as string),
        cast(null as string),
        cast(null as decimal(10,2)),
        _before_key_hash,
        'delete',
        cast(null as array<string>),
        struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, 2 as tie, coalesce(_event_id, '') as event),
        cast(null as struct<sequence:bigint,batch:bigint,line:bigint,tie:int,event:string>),
        'MOVE_OUT' as _source_operation,
        _event_id,
        _sequence_num,
        _event_time,
        _transaction_id,
        _offset,
        cast(null as string) as _moved_from
    from staged_events
    where _is_usable and _tidemark_effect = 'upsert' and coalesce(_before_key_hash <> _key_hash, false) and not _tidemark_is_pair
),

touched_keys as (
    select distinct _key_hash from effects
    union
    select distinct _key_hash from existing_events where _key_hash is not null
),

timeline as (
    select * from effects
    union all
    select
        `id`,
            `full name`,
            `phone`,
            `balance`,
        _key_hash,
        _tidemark_effect,
        _unsupplied,
        _tidemark_order,
        cast(null as struct<sequence:bigint,batch:bigint,line:bigint,tie:int,event:string>) as _tidemark_bound,
        `_source_operation`,
            `_event_id`,
            `_sequence_num`,
            `_event_time`,
            `_transaction_id`,
            `_offset`,
            `_moved_from`
    from existing_events
    union all
    select
        table_events.`id`,
        table_events.`full name`,
        table_events.`phone`,
        table_events.`balance`,
        touched_keys._key_hash,
        table_events._tidemark_effect,
        table_events._unsupplied,
        table_events._tidemark_order,
        table_events._tidemark_bound,
        table_events.`_source_operation`,
            table_events.`_event_id`,
            table_events.`_sequence_num`,
            table_events.`_event_time`,
            table_events.`_transaction_id`,
            table_events.`_offset`,
            table_events.`_moved_from`
    from touched_keys
    cross join table_events as table_events
    where table_events._tidemark_effect <> 'none'
),

arrived as (
    select * from timeline
),

pairs as (
    select
        *,
        _source_operation = 'MOVE_IN' and _tidemark_next.effect = 'delete'
            and _tidemark_next.transaction <=> _transaction_id as _tidemark_pair_in,
        _tidemark_effect = 'delete' and _tidemark_last.operation = 'MOVE_IN'
            and _tidemark_last.transaction <=> _transaction_id as _tidemark_pair_out
    from (
        select
            *,
            lead(struct(_tidemark_effect as effect, _transaction_id as transaction))
                over (partition by _key_hash order by _tidemark_order asc nulls first) as _tidemark_next,
            lag(struct(_source_operation as operation, _transaction_id as transaction))
                over (partition by _key_hash order by _tidemark_order asc nulls first) as _tidemark_last
        from arrived
    )
),

settled as (
    select
        * except (_tidemark_next, _tidemark_last, _tidemark_pair_in, _tidemark_pair_out, _tidemark_unpaired,
            _tidemark_bound_then),
        coalesce(
            _tidemark_pair_out and _tidemark_unpaired.is_row
                and not coalesce(_tidemark_bound_then > _tidemark_unpaired.position, false), false
        ) as _tidemark_is_other_row
    from (
        select
            *,
            last_value(
                if(
                    _tidemark_effect in ('upsert', 'delete', 'base')
                        and not coalesce(_tidemark_pair_in, false)
                            and not coalesce(_tidemark_pair_out, false),
                    struct(_tidemark_order as position, _tidemark_effect <> 'delete' as is_row),
                    null
                ), true
            ) over (partition by _key_hash order by _tidemark_order asc nulls first rows between unbounded preceding and 1 preceding) as _tidemark_unpaired,
            last_value(_tidemark_bound, true) over (partition by _key_hash order by _tidemark_order asc nulls first rows between unbounded preceding and 1 preceding) as _tidemark_bound_then
        from pairs
    )
),

preceded as (
    select
        *,
        last_value(
            if(
                _tidemark_effect in ('upsert', 'delete', 'base') and not _tidemark_is_other_row,
                struct(_tidemark_order as position, _tidemark_effect <> 'delete' as is_row),
                null
            ), true
        ) over (partition by _key_hash order by _tidemark_order asc nulls first rows between unbounded preceding and 1 preceding) as _tidemark_last,
        last_value(_tidemark_bound, true) over (partition by _key_hash order by _tidemark_order asc nulls first rows between unbounded preceding and 1 preceding) as _tidemark_last_bound
    from settled
),

lives as (
    select
        *,
        coalesce(_tidemark_last.is_row, false)
            and not coalesce(_tidemark_last_bound > _tidemark_last.position,
                false) as _tidemark_is_there
    from preceded
),

filled as (
    select
        `id`,
        if(
            _tidemark_effect in ('upsert', 'fill'),
            last_value(
                if(
                    _tidemark_effect in ('upsert', 'base') and (not _tidemark_is_there or _source_operation <=> 'MOVE_IN' or not coalesce(array_contains(_unsupplied, 'full name'), false)),
                    struct(if(
                        coalesce(array_contains(_unsupplied, 'full name'), false) and not _source_operation <=> 'MOVE_IN',
                        null, `full name`
                    ) as value),
                    null
                ), true
            ) over (partition by _key_hash order by _tidemark_order asc nulls first rows between unbounded preceding and current row).value,
            `full name`
        ) as `full name`,
        `phone`,
        `balance`,
        * except (`id`, `full name`, `phone`, `balance`)
    from lives
),

hashed as (
    select
        *,
        md5(concat_ws('',
            concat('9:full name', octet_length(`full name`), ':', `full name`),
            concat('5:phone', octet_length(`phone`), ':', `phone`),
            concat('7:balance', octet_length(trim(trailing '.' from trim(trailing '0' from cast(`balance` as string)))), ':', trim(trailing '.' from trim(trailing '0' from cast(`balance` as string))))
        )) as _row_hash
    from filled
),

compared as (
    select
        *,
        last_value(
            if(_tidemark_effect in ('upsert', 'base') or (_tidemark_effect = 'fill' and _tidemark_is_there), struct(`id`, `full name`, `phone`, `balance`, _row_hash), null), true
        ) over (partition by _key_hash order by _tidemark_order asc nulls first rows between unbounded preceding and 1 preceding) as _tidemark_before
    from hashed
),

derived as (
    select
        if(_tidemark_operation = 'D', _tidemark_before.`id`, `id`) as `id`,
        if(_tidemark_operation = 'D', _tidemark_before.`full name`, `full name`) as `full name`,
        if(_tidemark_operation = 'D', _tidemark_before.`phone`, `phone`) as `phone`,
        if(_tidemark_operation = 'D', _tidemark_before.`balance`, `balance`) as `balance`,
        _key_hash,
        case
            when _tidemark_operation = 'D' then _tidemark_before._row_hash
            when _tidemark_effect in ('upsert', 'fill') then _row_hash
        end as _row_hash,
        _tidemark_operation as _operation,
        case
            when _tidemark_operation = 'U'
                then array_compact(array(if(_tidemark_before.`full name` <=> compared.`full name`, null, 'full name'),
                        if(_tidemark_before.`phone` <=> compared.`phone`, null, 'phone'),
                        if(_tidemark_before.`balance` <=> compared.`balance`, null, 'balance')))
        end as _changed_columns,
        _unsupplied,
        `_source_operation`,
            `_event_id`,
            `_sequence_num`,
            `_event_time`,
            `_transaction_id`,
            `_offset`,
            `_moved_from`
    from (
        select
            *,
            case
                when _tidemark_is_other_row then 'N'
                when _tidemark_effect = 'upsert' and not _tidemark_is_there then 'I'
                when _tidemark_effect in ('upsert', 'fill') and _tidemark_is_there
                    then if(_tidemark_before._row_hash = _row_hash, if(_tidemark_effect = 'upsert', 'N', null), 'U')
                when _tidemark_effect = 'delete' then if(_tidemark_is_there, 'D', 'N')
                when _tidemark_effect = 'close' and _tidemark_is_there
                    and _tidemark_bound > _tidemark_last.position then 'D'
            end as _tidemark_operation
        from compared
    ) as compared
    where _tidemark_operation is not null
)

select
    `id`,
    `full name`,
    `phone`,
    `balance`,
    `_key_hash`,
    `_row_hash`,
    `_operation`,
    `_changed_columns`,
    `_unsupplied`,
    `_source_operation`,
    `_event_id`,
    `_sequence_num`,
    `_event_time`,
    `_transaction_id`,
    `_offset`,
    `_moved_from`,
    date'2026-03-04' as _business_date,
    date'2026-03-04' as _eff_start_date,
    260304093000123 as _batch_id,
    cast(null as bigint) as _supersedes
from derived
