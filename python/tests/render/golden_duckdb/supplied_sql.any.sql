select kh as "_key_hash", date '2026-03-04' as "_business_date", cast(20260304000000000001 as bigint) as "_commit_id"
from staged
