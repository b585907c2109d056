select
    num, source_op, kh, op, if(op = 'D', before_c0, after_c0) as c0, if(op = 'D', before_c1, after_c1) as c1, if(op = 'D', before_c2, after_c2) as c2, if(op = 'D', before_c3, after_c3) as c3, if(op = 'D', before_c4, after_c4) as c4,
    case when op = 'D' then before_rh when not is_gone then after_rh end as rh,
    case when op = 'U' then cast(list_filter([if(before_c1 is distinct from after_c1, 'name', null), if(before_c2 is distinct from after_c2, 'price', null), if(before_c3 is distinct from after_c3, 'since', null)], lambda name: name is not null) as varchar[]) end as changed,
    event_id, event_time, transaction_id, place, moved_from, unsupplied
from (
    select *,
        case
            when is_other then 'N'
            when is_gone then if(is_there, 'D', 'N')
            when not is_there then 'I'
            when after_rh = before_rh then 'N'
            else 'U'
        end as op
    from (
        select *, c0 as after_c0, c1 as after_c1, c2 as after_c2, c3 as after_c3, c4 as after_c4, rh as after_rh, was.c0 as before_c0, was.c1 as before_c1, was.c2 as before_c2, was.c3 as before_c3, was.c4 as before_c4, was.rh as before_rh
        from (select * replace (last_value(case when is_stored then struct_pack(c0 := c0, c1 := c1, c2 := c2, c3 := c3, c4 := c4, rh := rh) end ignore nulls) over (partition by kh order by num rows between unbounded preceding and 1 preceding) as was)
        from (
            select * replace (case when is_gone or not is_there or source_op = 'MOVE_IN' or not coalesce(list_contains(unsupplied, 'seen'), false) then c4 else (last_value(case when is_stored and (not is_there or source_op = 'MOVE_IN' or not coalesce(list_contains(unsupplied, 'seen'), false)) then struct_pack(value := c4) end ignore nulls) over (partition by kh order by num rows between unbounded preceding and 1 preceding)).value end as c4) from (select *, not is_gone and not (is_there and rh is not distinct from rh_before) as is_stored
            from (select *, last_value(case when not is_gone then rh end ignore nulls) over (partition by kh order by num rows between unbounded preceding and 1 preceding) as rh_before from (select * replace (case when unsupplied is null then rh else md5(concat(if(c1 is null, '', '4:name'), strlen(c1), if(c1 is null, '', ':'), c1, if(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end is null, '', '5:price'), strlen(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end), if(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end is null, '', ':'), case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end, if(cast(c3 as varchar) is null, '', '5:since'), strlen(cast(c3 as varchar)), if(cast(c3 as varchar) is null, '', ':'), cast(c3 as varchar))) end as rh)
            from (select * replace (case when is_gone then c1 else (last_value(case when not is_gone and (not is_there or source_op = 'MOVE_IN' or not coalesce(list_contains(unsupplied, 'name'), false)) then struct_pack(value := c1) end ignore nulls) over (partition by kh order by num rows between unbounded preceding and current row)).value end as c1) from (select *, false as is_other, coalesce(not lag(is_gone) over key, false) as is_there,
        lag(struct_pack(c0 := c0, c1 := c1, c2 := c2, c3 := c3, c4 := c4, rh := rh)) over key as was
    from (
        select * from base
        union all by name
        select * exclude (op), op = 'd' as is_gone,
            case when op <> 'd' and coalesce(before_kh <> kh, false) then 'MOVE_IN' else case op when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' when 'p' then 'UPSERT' when 'd' then 'DELETE' end end as source_op,
            case when op <> 'd' and coalesce(before_kh <> kh, false) then before_kh end as moved_from
        from usable
    )
    window key as (partition by kh order by num))))))
        ))
    )
    where source_op <> 'base'
)
