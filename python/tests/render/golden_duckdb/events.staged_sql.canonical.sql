select
    * replace (case when is_snapshot and op in ('c', 'p') then 'r' else op end as op),
    false as is_pair,
    md5(concat_ws('|', case
        when is_numbered then concat_ws('|', 'num', database, table_name, num, case op when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' when 'p' then 'UPSERT' when 'd' then 'DELETE' end)
        when place is not null
            then concat_ws('|', 'offset', database, table_name, place, case op when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' when 'p' then 'UPSERT' when 'd' then 'DELETE' end)
        when event_time is not null or transaction_id is not null then 'content'
        else concat('line|', landing_num) end, content)) as event_id,
    cast(null as varchar) as grp
from (
    select
        op, landed_id, content,
        unsupplied, coalesce(cast(sequence_num as bigint), num) as num,
        num as landing_num, sequence_num is not null as is_numbered, db as database,
        "table" as table_name, "offset" as place, transaction_id,
        coalesce(is_snapshot = 'true', false) as is_snapshot,
        cast(null as varchar) as snapshot_mark,
        time_text, case when regexp_full_match(time_text, '-?[1-9][0-9]{14,15}') then cast(make_timestamp(cast(time_text as bigint) ) as TIMESTAMP WITH TIME ZONE) else try_cast(rtrim(time_text, 'Z') as TIMESTAMP WITH TIME ZONE) end as event_time,
        try_cast(f0 as INTEGER) as c0, try_cast(b0 as INTEGER) as k0, f1 as c1, try_cast(f2 as DECIMAL(12,2)) as c2, case when regexp_full_match(f3, '0|-?[1-9][0-9]{0,5}') then date '1970-01-01' + cast(f3 as integer) else try_cast(f3 as DATE) end as c3, case when regexp_full_match(f4, '-?[1-9][0-9]{14,15}') then cast(make_timestamp(cast(f4 as bigint) ) as TIMESTAMP WITH TIME ZONE) else try_cast(rtrim(f4, 'Z') as TIMESTAMP WITH TIME ZONE) end as c4,
        md5(concat(if(cast(c0 as varchar) is null, '', '2:id'), strlen(cast(c0 as varchar)), if(cast(c0 as varchar) is null, '', ':'), cast(c0 as varchar))) as kh,
        case when op <> 'd' and (k0 is not null) then md5(concat(if(cast(k0 as varchar) is null, '', '2:id'), strlen(cast(k0 as varchar)), if(cast(k0 as varchar) is null, '', ':'), cast(k0 as varchar))) end as before_kh,
        md5(concat(if(c1 is null, '', '4:name'), strlen(c1), if(c1 is null, '', ':'), c1, if(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end is null, '', '5:price'), strlen(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end), if(case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end is null, '', ':'), case when not ends_with(cast(c2 as varchar), '0') then cast(c2 as varchar) else rtrim(rtrim(cast(c2 as varchar), '0'), '.') end, if(cast(c3 as varchar) is null, '', '5:since'), strlen(cast(c3 as varchar)), if(cast(c3 as varchar) is null, '', ':'), cast(c3 as varchar), if(cast(epoch_us(c4) as varchar) is null, '', '4:seen'), strlen(cast(epoch_us(c4) as varchar)), if(cast(epoch_us(c4) as varchar) is null, '', ':'), cast(epoch_us(c4) as varchar))) as rh,
        case when cast(c0 as varchar) is distinct from f0 then 0 when cast(k0 as varchar) is distinct from b0 then 0 when c0 is null then 0 when f2 is not null and not (c2 is not null and regexp_full_match(f2, '-?[0-9]{1,10}(\.[0-9]{1,2})?')) then 2 when f3 is not null and not (c3 is not null and regexp_full_match(f3, '(1[6-9]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}|0|-?[1-9][0-9]{0,5}') and c3 >= cast('1600-01-01' as DATE) and c3 < cast('10000-01-01' as DATE)) then 3 when f4 is not null and not (c4 is not null and regexp_full_match(f4, '(1[6-9]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z?|-?[1-9][0-9]{14,15}') and c4 >= cast('1600-01-01' as TIMESTAMP WITH TIME ZONE) and c4 < cast('10000-01-01' as TIMESTAMP WITH TIME ZONE)) then 4 when time_text is not null and not (event_time is not null and regexp_full_match(time_text, '(1[6-9]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z?|-?[1-9][0-9]{14,15}') and event_time >= cast('1600-01-01' as TIMESTAMP WITH TIME ZONE) and event_time < cast('10000-01-01' as TIMESTAMP WITH TIME ZONE)) then -1 end as unproven
    from parsed
    where is_ours and op is not null
)
