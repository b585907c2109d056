{{ tidemark.latest_per_key_sql(ref('customer_changes'), by_batch=true) }}
