{{ tidemark.event_keys_sql(
    {'fingerprint_ignore': tidemark.fingerprint_ignore()},
    '(' ~ tidemark.enriched_events_sql(ref('event_lines')) ~ ')'
) }}
