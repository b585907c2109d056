select
    *,
    false as is_pair,
    md5(concat_ws('|', concat_ws('|', connector, name, if(landed_id is null or op = 'r',
        concat_ws('|', place, event_serial_no, op), concat_ws('|', 'landed', landed_id))), content)) as event_id,
    concat_ws('|', place, case when op = 'r' then content end, name) as grp
from (
    select
        op, landed_id, content,
        num, num as landing_num, connector, name, event_serial_no, db as database,
        concat_ws('.', schema, "table") as table_name,
        case connector when 'postgresql' then concat_ws(':', "txId", "lsn") when 'mysql' then concat_ws(':', "file", "pos", "row") when 'mariadb' then concat_ws(':', "file", "pos", "row") when 'sqlserver' then concat_ws(' ', "commit_lsn", "change_lsn") when 'oracle' then concat_ws(':', "scn", "txId", "rs_id", "ssn") end as place,
        case when connector = 'postgresql' then "txId" else coalesce(gtid, transaction_id) end
            as transaction_id,
        coalesce(gtid, server_id) as server,
        coalesce(snapshot, 'false') <> 'false' as is_snapshot,
        case when op = 'r' then coalesce(snapshot, '') end as snapshot_mark,
        cast(make_timestamp(coalesce(cast(ts_us as bigint), cast(ts_ms as bigint) * 1000))
            as timestamp with time zone) as event_time,
        try_cast(f0 as INTEGER) as c0, try_cast(b0 as INTEGER) as k0, f1 as c1, try_cast(f2 as DECIMAL(12,2)) as c2, case when regexp_full_match(f3, '0|-?[1-9][0-9]{0,5}') then date '1970-01-01' + cast(f3 as integer) else try_cast(f3 as DATE) end as c3, case when regexp_full_match(f4, '-?[1-9][0-9]{14,15}') then cast(make_timestamp(cast(f4 as bigint) ) as TIMESTAMP WITH TIME ZONE) else try_cast(rtrim(f4, 'Z') as TIMESTAMP WITH TIME ZONE) end as c4,
        md5(concat(if(cast(c0 as varchar) is null, '', '2:id'), strlen(cast(c0 as varchar)), if(cast(c0 as varchar) is null, '', ':'), cast(c0 as varchar))) as kh,
        case when op <> 'd' and (k0 is not null) then md5(concat(if(cast(k0 as varchar) is null, '', '2:id'), strlen(cast(k0 as varchar)), if(cast(k0 as varchar) is null, '', ':'), cast(k0 as varchar))) end as before_kh,
        md5(concat(if(c1 is null, '', '4:name'), strlen(c1), if(c1 is null, '', ':'), c1, if(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end is null, '', '5:price'), strlen(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end), if(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end is null, '', ':'), case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end, if(cast(c3 as varchar) is null, '', '5:since'), strlen(cast(c3 as varchar)), if(cast(c3 as varchar) is null, '', ':'), cast(c3 as varchar), if(cast(epoch_us(c4) as varchar) is null, '', '4:seen'), strlen(cast(epoch_us(c4) as varchar)), if(cast(epoch_us(c4) as varchar) is null, '', ':'), cast(epoch_us(c4) as varchar))) as rh,
        case when cast(c0 as varchar) is distinct from f0 then 0 when cast(k0 as varchar) is distinct from b0 then 0 when c0 is null then 0 when f2 is not null and not (c2 is not null and regexp_full_match(f2, '-?[0-9]{1,10}(\.[0-9]{1,2})?')) then 2 when f3 is not null and not (c3 is not null and regexp_full_match(f3, '(1[6-9]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}|0|-?[1-9][0-9]{0,5}') and c3 >= cast('1600-01-01' as DATE) and c3 < cast('10000-01-01' as DATE)) then 3 when f4 is not null and not (c4 is not null and regexp_full_match(f4, '(1[6-9]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z?|-?[1-9][0-9]{14,15}') and c4 >= cast('1600-01-01' as TIMESTAMP WITH TIME ZONE) and c4 < cast('10000-01-01' as TIMESTAMP WITH TIME ZONE)) then 4 end as unproven
    from parsed
    where is_ours and op is not null
)
