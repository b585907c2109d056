merge into shop.atomic_events__manifest as claims
using (
    select
        _event_id,
        _fingerprint
    from shop.atomic_events__keys
    where _reject_reason is null and (select count_if(commit_id = 260304093000123) + count(distinct if(commit_id <> 260304093000123 and state <> 'rolled_back', commit_id, null)) - count(distinct if(commit_id <> 260304093000123 and state = 'rolled_back', commit_id, null)) from shop.tidemark_commits where relation = 'shop.atomic_events' and (commit_id = 260304093000123 and (state = 'rolled_back' or details is not null) or commit_id <> 260304093000123 and commit_id > 260304093000122 and kind in ('full_refresh', 'rehash', 'promote'))) = 0
    group by _event_id, _fingerprint
) as arrived
on
    claims.event_id = arrived._event_id
    and claims.fingerprint = arrived._fingerprint
when not matched then insert (
    event_id, fingerprint, etl_tstamp, expires_at, _commit_id
) values (
    arrived._event_id,
    arrived._fingerprint,
    timestamp_micros(1772614800000000),
    timestamp_micros(1772614800000000) + interval 180 days,
    260304093000123
)
