select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", op as "_operation", date '2026-03-04' as "_eff_start_date", cast(null as varchar[]) as "_changed_columns", cast(20260304000000000001 as bigint) as "_commit_id"
from staged join classified using (kh)
where op in ('I', 'U')
