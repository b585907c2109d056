select
    coalesce(after.kh, before.kh) as kh,
    case
        when after.kh is null then if(before.operation = 'D', 'K', 'X')
        when before.kh is null or before.operation = 'D' then 'I'
        when after.rh = before.rh then 'N'
        else 'U'
    end as op,
    before.operation as was,
    before.since as began
from staged as after
full outer join existing as before on after.kh = before.kh
