select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", op as "_operation", date '2026-03-04' as "_eff_start_date", changed as "_changed_columns", cast(20260304000000000001 as bigint) as "_commit_id"
from (
    select *, case when op = 'U' then cast(list_filter([if(before_c1 is distinct from after_c1, 'name', null), if(before_c2 is distinct from after_c2, 'price', null), if(before_c3 is distinct from after_c3, 'since', null)], lambda name: name is not null) as varchar[]) end as changed
    from (
        select after.*, after.c0 as after_c0, after.c1 as after_c1, after.c2 as after_c2, after.c3 as after_c3, after.c4 as after_c4, before.c0 as before_c0, before.c1 as before_c1, before.c2 as before_c2, before.c3 as before_c3, before.c4 as before_c4
        from (
            from staged join (select kh, op from classified where op in ('I', 'U')) using (kh)
        ) as after
        left join (
            from existing semi join (from classified where op = 'U') using (kh)
        ) as before on after.kh = before.kh
    )
)
where op in ('I', 'U')
union all
select c0 as "id", c1 as "name", c2 as "price", c3 as "since", c4 as "seen", kh as "_key_hash", rh as "_row_hash", op as "_operation", date '2026-03-04' as "_eff_start_date", cast(null as varchar[]) as "_changed_columns", cast(20260304000000000001 as bigint) as "_commit_id"
from existing join classified using (kh)
where op = 'D'
