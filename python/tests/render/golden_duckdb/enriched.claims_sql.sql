select "event_id" as id, "fingerprint" as fingerprint, epoch_us(cast("etl_tstamp" as timestamp with time zone)) as etl, epoch_us(cast("expires_at" as timestamp with time zone)) as until, "_commit_id" as commit_id
from read_parquet(['/lake/events__manifest/part-0.parquet'], union_by_name = true, hive_partitioning = false)
where until >= 7 and "event_id" in (select id from usable)
