with deliveries as (
    select
        ours.*,
        known_lines._delivery_hash is not null or known_places._known_line is not null or (ours._delivery_hash is not null and row_number() over (
            partition by _group, _identity, _content, ours._delivery_hash order by ours._landing_num asc nulls last
        ) > 1) as _is_repeated,
        ours._kind = 'row' and (
            coalesce(ours._snapshot_mark in ('first', 'first_in_data_collection'), false)
            or coalesce(ours._total_order <= lag(ours._total_order) over (
                partition by ours._group, ours._transaction_id order by ours._landing_num asc nulls last
            ), false)
        ) as _is_start
    from judged_events as ours
    left join (select distinct _delivery_hash from shop.customers_without_key__staging) as known_lines
        on ours._delivery_hash = known_lines._delivery_hash
    left join (
        select distinct
            _landing_num as _known_line,
            _identity as _known_identity,
            _content as _known_content
        from shop.customers_without_key__staging
    ) as known_places
        on
            ours._tidemark_line_num = known_places._known_line
            and ours._identity = known_places._known_identity
            and ours._content = known_places._known_content
),

delivered as (
    select
        *,
        sum(if(_is_start and not _is_repeated, 1, 0)) over (
            partition by _offset, _transaction_id, _is_snapshot
            order by _landing_num asc nulls last
            rows between unbounded preceding and current row
        ) as _delivery
    from deliveries
),

counted as (
    select
        delivered.* except (_delivery, _is_captured),
        if(_source_operation <> 'READ' and (_is_captured or _identity like 'mysql|%:%:%|%' or _identity like 'mariadb|%:%:%|%' or _identity like 'sqlserver|%|% %|%|%'), 1, row_number() over (
            partition by _group, _identity, _content, _is_repeated, _delivery order by _landing_num asc nulls last
        ) + if(
            delivered._delivery = 0
            and (delivered._total_order is null
                or delivered._total_order > coalesce(counted_before._known_order, 0)),
            coalesce(counted_before._known_copies, 0),
            0
        )) as _ordinal
    from delivered
    left join (
        select
            _identity as _known_identity,
            _content as _known_content,
            count(distinct _event_id) as _known_copies,
            max(_total_order) as _known_order
        from shop.customers_without_key__staging
        group by _identity, _content
    ) as counted_before
        on delivered._identity = counted_before._known_identity
            and delivered._content = counted_before._known_content
),

identified as (
    select
        *,
        md5(concat_ws('|', _identity, _content, if(_kind = 'row', _ordinal, null))) as _event_id
    from counted
),

copies as (
    select
        *,
        row_number() over (
            partition by _group, _event_id order by _is_repeated asc nulls last, _landing_num asc nulls last
        ) as _copy
    from identified
)

select
    copies.* except (_is_repeated, _copy),
    false as _tidemark_is_pair,
    copies._kind <> 'unreadable' and (copies._is_repeated or copies._copy > 1 or known_events._event_id is not null) as _is_duplicate
from copies
left join (select distinct _event_id from shop.customers_without_key__log
    where _superseded_by is null) as known_events
    on copies._event_id = known_events._event_id
