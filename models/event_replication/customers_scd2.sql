{{ tidemark.scd2(ref('customers'), by='event_time') }}
