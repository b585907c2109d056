select
    {{ tidemark.original_id_expr() }} as original_event_id,
    event_id,
    event_fingerprint,
    collector_tstamp,
    _commit_id
from {{ ref('atomic_events') }}
where {{ tidemark.original_id_expr() }} <> event_id
