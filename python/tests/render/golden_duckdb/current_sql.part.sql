select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", if(op in ('N', 'X', 'K'), was, op) as "_operation", if(op in ('N', 'X', 'K'), began, date '2026-03-04') as "_eff_start_date"
from staged join classified using (kh)
where op in ('I', 'U')
union all
select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", operation as "_operation", since as "_eff_start_date"
from standing anti join (from classified where op in ('D', 'I', 'U')) using (kh)
