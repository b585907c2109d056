select * replace (case when op <> 'd' and (k0 is not null) then md5(concat(if(cast(k0 as varchar) is null, '', '2:id'), strlen(cast(k0 as varchar)), if(cast(k0 as varchar) is null, '', ':'), cast(k0 as varchar))) end as before_kh)
from (
    select * replace (case when is_pair then lag(k0) over place else k0 end as k0)
    from (select * replace (op = 'c' and connector <> 'oracle' and lag(op, 1, '') over (partition by grp order by num) = 'd' as is_pair) from staged)
    window place as (partition by grp order by num)
)
