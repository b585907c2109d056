with steps as (
    select
        `id`,
        `full name`,
        `phone`,
        `balance`,
        _row_hash as _tidemark_group,
        case when _source_operation = 'DELETE' then -1
            when _row_hash = _before_row_hash then 0 else 1 end as _tidemark_step,
        cast(_ordinal as bigint) as _tidemark_nth,
        struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, if(_source_operation = 'DELETE', 2, 1) as tie, coalesce(_event_id, '') as event) as _tidemark_order,
        if(_before_row_hash <> _row_hash, 'MOVE_IN', _source_operation) as _source_operation,
        _event_id,
        _sequence_num,
        _event_time,
        _transaction_id,
        _offset,
        cast(null as string) as _moved_from
    from staged_copies
    where _is_usable and _tidemark_effect in ('upsert', 'delete')
    union all
    select
        `_before_id`,
        `_before_full name`,
        `_before_phone`,
        `_before_balance`,
        _before_row_hash,
        -1,
        cast(null as bigint),
        struct(coalesce(_sequence_num, -9223372036854775807) as sequence, coalesce(cast(260304093000123 as bigint), -9223372036854775807) as batch, coalesce(cast(_sequence_num as bigint), -9223372036854775807) as line, 2 as tie, coalesce(_event_id, '') as event),
        'MOVE_OUT' as _source_operation,
        _event_id,
        _sequence_num,
        _event_time,
        _transaction_id,
        _offset,
        cast(null as string) as _moved_from
    from staged_copies
    where _is_usable and _before_row_hash <> _row_hash
),

touched_groups as (
    select distinct _tidemark_group from steps
    union
    select distinct _tidemark_group from existing_copies where _tidemark_group is not null
),

timeline as (
    select * from steps
    union all
    select
        `id`,
            `full name`,
            `phone`,
            `balance`,
        _tidemark_group,
        _tidemark_step,
        cast(null as bigint) as _tidemark_nth,
        _tidemark_order,
        `_source_operation`,
            `_event_id`,
            `_sequence_num`,
            `_event_time`,
            `_transaction_id`,
            `_offset`,
            `_moved_from`
    from existing_copies
    union all
    select
        cast(null as bigint),
        cast(null as string),
        cast(null as string),
        cast(null as decimal(10,2)),
        touched_groups._tidemark_group,
        null,
        null,
        table_events._tidemark_order,
        table_events.`_source_operation`,
            table_events.`_event_id`,
            table_events.`_sequence_num`,
            table_events.`_event_time`,
            table_events.`_transaction_id`,
            table_events.`_offset`,
            table_events.`_moved_from`
    from touched_groups
    cross join table_events as table_events
    where table_events._tidemark_effect = 'close'
),

segments as (
    select
        *,
        count_if(_tidemark_step is null)
            over (partition by _tidemark_group order by _tidemark_order asc nulls first rows between unbounded preceding and current row) as _tidemark_segment,
        coalesce(
            _tidemark_nth, count_if(_source_operation = 'READ')
                over (partition by _tidemark_group, _offset order by _tidemark_order asc nulls first rows between unbounded preceding and current row)
        ) as _tidemark_read
    from timeline
),

starts as (
    select
        *,
        coalesce(
            last_value(if(_tidemark_step is null,
                if(_source_operation = 'SNAPSHOT', coalesce(_tidemark_reads, 0), 0), null), true)
                over (partition by _tidemark_group order by _tidemark_order asc nulls first rows between unbounded preceding and current row),
            0
        ) as _tidemark_start
    from (
        select
            *,
            max(if(_source_operation = 'READ', _tidemark_read, null))
                over (partition by _tidemark_group, _offset order by _tidemark_order asc nulls first rows between unbounded preceding and current row) as _tidemark_reads
        from segments
    )
),

sums as (
    select
        *,
        sum(if(_source_operation = 'READ', 0, _tidemark_step))
            over (partition by _tidemark_group, _tidemark_segment order by _tidemark_order asc nulls first rows between unbounded preceding and current row) as _tidemark_sum,
        max(if(_source_operation = 'READ', _tidemark_read, null))
            over (partition by _tidemark_group, _tidemark_segment order by _tidemark_order asc nulls first rows between unbounded preceding and current row) as _tidemark_most,
        last_value(struct(`id`, `full name`, `phone`, `balance`), true) over (
            partition by _tidemark_group order by _tidemark_step is null desc nulls first,
                _tidemark_order asc nulls first
            rows between unbounded preceding and unbounded following
        ) as _tidemark_image
    from starts
),

leveled as (
    select
        *,
        sum(if(_source_operation = 'READ' or _tidemark_most is not null, 0, _tidemark_step)) over (
            partition by _tidemark_group, _tidemark_segment order by _tidemark_order asc nulls first rows between unbounded preceding and current row
        ) as _tidemark_sum_before_read,
        min(if(_tidemark_most is null, _tidemark_start + coalesce(_tidemark_sum, 0), null)) over (
            partition by _tidemark_group, _tidemark_segment order by _tidemark_order asc nulls first rows between unbounded preceding and current row
        ) as _tidemark_least
    from sums
),

counted as (
    select
        *,
        case
            when _tidemark_step is null or _tidemark_most is null
                then _tidemark_start + coalesce(_tidemark_sum,
                    0) - least(coalesce(_tidemark_least, 0), 0)
            else greatest(_tidemark_start + coalesce(_tidemark_sum_before_read, 0) - least(coalesce(_tidemark_least, 0), 0), _tidemark_most)
                + coalesce(_tidemark_sum, 0) - coalesce(_tidemark_sum_before_read, 0)
        end as _tidemark_level
    from leveled
),

held as (
    select
        *,
        _tidemark_level - least(coalesce(min(if(_tidemark_most is null, null, _tidemark_level)) over (
            partition by _tidemark_group, _tidemark_segment order by _tidemark_order asc nulls first rows between unbounded preceding and current row
        ), 0), 0) as _tidemark_count
    from counted
),

counts as (
    select
        *,
        coalesce(lag(_tidemark_count)
            over (partition by _tidemark_group order by _tidemark_order asc nulls first),
                0) as _tidemark_count_before
    from held
),

copies as (
    select
        *,
        explode(case
            when _tidemark_step is null then if(
                _tidemark_count_before > greatest(_tidemark_count, 0),
                sequence(greatest(_tidemark_count, 0) + 1, _tidemark_count_before), array()
            )
            else array(greatest(
                case when _source_operation = 'READ' then _tidemark_read
                    when _tidemark_step > 0 then _tidemark_count else _tidemark_count_before end, 1
            ))
        end) as _tidemark_copy
    from counts
    where _event_id is not null
),

derived as (
    select
        if(_tidemark_step is null, _tidemark_image.`id`, `id`) as `id`,
        if(_tidemark_step is null, _tidemark_image.`full name`, `full name`) as `full name`,
        if(_tidemark_step is null, _tidemark_image.`phone`, `phone`) as `phone`,
        if(_tidemark_step is null, _tidemark_image.`balance`, `balance`) as `balance`,
        md5(concat(_tidemark_group, ':', _tidemark_copy)) as _key_hash,
        _tidemark_group,
        _tidemark_group as _row_hash,
        case
            when _tidemark_step is null then 'D'
            when _source_operation = 'READ' then if(_tidemark_count > _tidemark_count_before, 'I', 'N')
            when _tidemark_step > 0 and _tidemark_count >= 1 then 'I'
            when _tidemark_step < 0 and _tidemark_count_before >= 1 then 'D'
            else 'N'
        end as _operation,
        cast(null as array<string>) as _changed_columns,
        cast(null as array<string>) as _unsupplied,
        `_source_operation`,
            `_event_id`,
            `_sequence_num`,
            `_event_time`,
            `_transaction_id`,
            `_offset`,
            `_moved_from`
    from copies
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
