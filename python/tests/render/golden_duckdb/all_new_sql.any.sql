select kh, 'I' as op, null::varchar as was, null::date as began from staged
