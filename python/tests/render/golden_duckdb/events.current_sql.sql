select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", operation as "_operation", since as "_eff_start_date", num as "_sequence_num"
from (
    select c0, c1, c2, c3, c4, kh, rh, operation, since, num from existing anti join latest using (kh)
    union all
    select c0, c1, c2, c3, c4, kh, rh, op, date '2026-03-04', num from latest where op <> 'D'
)
