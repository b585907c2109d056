select "event_id" as id, "fingerprint" as fingerprint, epoch_us(cast("etl_tstamp" as timestamp with time zone)) as etl, "_commit_id" as commit_id
from read_parquet(['/lake/events__manifest/part-0.parquet'], union_by_name = true, hive_partitioning = false)
where epoch_us(cast("expires_at" as timestamp with time zone)) >= 7 and "event_id" in (select id from usable)
