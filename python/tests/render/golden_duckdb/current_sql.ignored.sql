select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", if(op in ('N', 'X', 'K'), if(op = 'K', was, op), op) as "_operation", if(op in ('N', 'X', 'K'), began, date '2026-03-04') as "_eff_start_date"
from staged join classified using (kh)
where op in ('I', 'U')
union all
select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", if(op in ('N', 'X', 'K'), if(op = 'K', was, op), op) as "_operation", if(op in ('N', 'X', 'K'), began, date '2026-03-04') as "_eff_start_date"
from standing join classified using (kh)
where op in ('K', 'N', 'X')
