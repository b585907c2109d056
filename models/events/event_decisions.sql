{{ tidemark.decided_events_sql({'deduplicate': tidemark.deduplication_steps()}, ref('event_keys')) }}
