with usable as (
    select * from shop.atomic_events__keys where _reject_reason is null
),

claimed as (
    select
        claims.event_id,
        claims.fingerprint,
        max(claims.expires_at)
            as _until
    from shop.atomic_events__manifest as claims
    left semi join usable on claims.event_id = usable._event_id
    where
        claims.expires_at >= timestamp_micros(1772614799123456)
        and not claims._commit_id <=> 260304093000123
        -- a claim of another tool tells its batch by etl time alone: of its earliest event or of its latest,
        -- perhaps in seconds
        and not (claims._commit_id is null
            and claims.etl_tstamp in (timestamp_micros(1772614800000000), timestamp_seconds(1772614800), timestamp_micros(1772614799123456), timestamp_seconds(1772614799)))
    group by claims.event_id, claims.fingerprint
),

claimed_ids as (
    select
        event_id,
        max(if(_nth = 1, fingerprint, null)) as _fingerprint,
        max(if(_nth = 1, _until, null)) as _until,
        max(if(_nth = 2, _until, null)) as _others_until
    from (
        select
            *,
            row_number() over (partition by event_id order by _until desc nulls last,
                fingerprint asc nulls last) as _nth
        from claimed
    )
    where _nth <= 2
    group by event_id
),

copies as (
    select
        usable._row,
        usable._event_id,
        usable._fingerprint,
        claimed._until >= coalesce(usable._etl_tstamp, timestamp_micros(1772614800000000)) as _is_claimed,
        if(claimed_ids._fingerprint <> usable._fingerprint, claimed_ids._until, claimed_ids._others_until)
            >= coalesce(usable._etl_tstamp, timestamp_micros(1772614800000000)) as _has_claimed_sibling,
        row_number() over (
            partition by usable._event_id, usable._fingerprint
            order by
                usable._etl_tstamp asc nulls last,
                usable._collector_tstamp asc nulls last,
                usable._line_hash asc nulls last,
                usable._row asc nulls last
        ) as _copy
    from usable
    left join claimed_ids on usable._event_id = claimed_ids.event_id
    left join claimed on usable._event_id = claimed.event_id and usable._fingerprint = claimed.fingerprint
),

without_copies as (
    select
        *,
        case
            when _copy > 1 then 'natural_in_batch'
            when _is_claimed then 'natural_cross_batch'
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
            when _has_claimed_sibling then 'synthetic_cross_batch'
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
