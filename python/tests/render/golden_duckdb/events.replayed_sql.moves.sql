select
    num, source_op, kh, op, if(op = 'D', before_c0, after_c0) as c0, if(op = 'D', before_c1, after_c1) as c1, if(op = 'D', before_c2, after_c2) as c2, if(op = 'D', before_c3, after_c3) as c3, if(op = 'D', before_c4, after_c4) as c4,
    case when op = 'D' then before_rh when not is_gone then after_rh end as rh,
    case when op = 'U' then cast(list_filter([if(before_c1 is distinct from after_c1, 'name', null), if(before_c2 is distinct from after_c2, 'price', null), if(before_c3 is distinct from after_c3, 'since', null), if(before_c4 is distinct from after_c4, 'seen', null)], lambda name: name is not null) as varchar[]) end as changed,
    event_id, event_time, transaction_id, place, moved_from
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
        from (select *,
        coalesce(last_value(case when not is_other then not is_gone end ignore nulls)
            over (key rows between unbounded preceding and 1 preceding), false) as is_there,
        last_value(case when not is_gone then struct_pack(c0 := c0, c1 := c1, c2 := c2, c3 := c3, c4 := c4, rh := rh) end ignore nulls)
            over (key rows between unbounded preceding and 1 preceding) as was
    from (
        select *,
            is_pair_out and coalesce(
                last_value(case when not is_pair_in and not is_pair_out then not is_gone end
                    ignore nulls) over (key rows between unbounded preceding and 1 preceding), false) as is_other
        from (
            select *,
                source_op = 'MOVE_IN' and coalesce(lead(is_gone) over key, false)
                    and lead(transaction_id) over key is not distinct from transaction_id
                    as is_pair_in,
                is_gone and coalesce(lag(source_op) over key = 'MOVE_IN', false)
                    and lag(transaction_id) over key is not distinct from transaction_id
                    as is_pair_out
            from (
                select * from base
        union all by name
        select * exclude (op), op = 'd' as is_gone,
            case when op <> 'd' and coalesce(before_kh <> kh, false) then 'MOVE_IN' else case op when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' when 'p' then 'UPSERT' when 'd' then 'DELETE' end end as source_op,
            case when op <> 'd' and coalesce(before_kh <> kh, false) then before_kh end as moved_from
        from usable
                union all by name
                select * exclude (op, kh, rh, c0, c1, c2, c3, c4),
                    before_kh as kh, true as is_gone, 'MOVE_OUT' as source_op, k0 as c0, null as c1, null as c2, null as c3, null as c4
                from usable where op <> 'd' and coalesce(before_kh <> kh, false) and not is_pair
            )
            window key as (partition by kh order by num)
        )
        window key as (partition by kh order by num)
    )
    window key as (partition by kh order by num))
    )
    where source_op <> 'base'
)
