with usable as (
    select * from shop.atomic_events__keys where _reject_reason is null
),

copies as (
    select
        usable._row,
        usable._event_id,
        usable._fingerprint,
        false as _is_claimed,
        false as _has_claimed_sibling,
        row_number() over (
            partition by usable._event_id, usable._fingerprint
            order by
                usable._etl_tstamp asc nulls last,
                usable._collector_tstamp asc nulls last,
                usable._line_hash asc nulls last,
                usable._row asc nulls last
        ) as _copy
    from usable
),

without_copies as (
    select
        *,
        case
            when _copy > 1 then 'natural_in_batch'
        end as _dropped
    from copies
),

siblings as (
    select
        *,
        min(if(_dropped is null, _fingerprint, null)) over (partition by _event_id) as _least,
        max(if(_dropped is null, _fingerprint, null)) over (partition by _event_id) as _greatest
    from without_copies
),

judged as (
    select
        _row,
        _event_id,
        _fingerprint,
        case
            when _dropped is not null then _dropped
            when _least <> _greatest then 'synthetic_in_batch'
        end as _kind
    from siblings
)

select
    _row,
    _kind,
    if(startswith(_kind, 'synthetic'), concat_ws('-', substr(sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(_event_id, ':', _fingerprint) as binary))), 1, 8), substr(sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(_event_id, ':', _fingerprint) as binary))), 9, 4), concat('5', substr(sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(_event_id, ':', _fingerprint) as binary))), 14, 3)), concat(substr('89ab', 1 + pmod(conv(substr(sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(_event_id, ':', _fingerprint) as binary))), 17, 1), 16, 10), 4), 1), substr(sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(_event_id, ':', _fingerprint) as binary))), 18, 3)), substr(sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(_event_id, ':', _fingerprint) as binary))), 21, 12)),
        null) as _new_id
from judged
where _kind is not null
union all
select
    _row,
    'rejected' as _kind,
    cast(null as string) as _new_id
from shop.atomic_events__keys
where _reject_reason is not null
