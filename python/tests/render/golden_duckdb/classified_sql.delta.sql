select
    after.kh,
    case
        when before.kh is null or before.operation = 'D' then 'I'
        when after.rh = before.rh then 'N'
        else 'U'
    end as op,
    before.operation as was,
    before.since as began
from staged as after
left join existing as before on after.kh = before.kh
