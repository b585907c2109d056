with stored as (
    select
        lower(coalesce(nullif(get_json_object(concat('{"id":', regexp_extract(derived_contexts, '"schema"[ ]*:[ ]*"iglu:com\\.snowplowanalytics\\.snowplow/duplicate/jsonschema/1-0-[0-9]+"[ ]*,[ ]*"data"[ ]*:[ ]*[{][ ]*"originalEventId"[ ]*:[ ]*("[^"\\\\]*(?:\\\\.[^"\\\\]*)*")', 1), '}'), '$.id'), ''), event_id)) as event_id,
        event_fingerprint as fingerprint,
        _commit_id in (7, 8) as _goes
    from shop.atomic_events
)

select
    goes.event_id,
    goes.fingerprint,
    claims._commit_id
from (
    select
        event_id,
        fingerprint
    from stored
    group by event_id, fingerprint
    having every(_goes)
) as goes
cross join (select explode(array(5)) as _commit_id) as claims
