with texts as (
    select
        convert(varchar(20), [id]) as c1,
        case [c 1] when 0 then 'false' when 1 then 'true' end as c2,
        case when convert(varchar(50), [c 2]) like '%.%' then case when left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1) like '%.' then left(left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1), len(left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1)) - 1) else left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1) end else convert(varchar(50), [c 2]) end as c3,
        convert(char(10), [c 3], 23) as c4,
        convert(varchar(20), datediff_big(second, '1970-01-01', cast([c 4] as datetime2(6))) * 1000000 + datepart(microsecond, cast([c 4] as datetime2(6)))) as c5,
        convert(varchar(20), datediff_big(second, '1970-01-01', cast(switchoffset([c 5], 0) as datetime2(6))) * 1000000 + datepart(microsecond, cast(switchoffset([c 5], 0) as datetime2(6)))) as c6,
        convert(varchar(max), [c 6], 2) as c7,
        convert(nvarchar(max), [c 7]) as c8,
        convert(varchar(36), [c 8]) as c9
    from [shop].[Orders]
),

digests as (
    select
        lower(convert(char(32), hashbytes('MD5', convert(varchar(max), (case when c1 is null then 'N;' else concat(len((c1 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c1, ';') end) collate Latin1_General_100_BIN2_UTF8)), 2)) as key_digest,
        lower(convert(char(32), hashbytes('MD5', convert(varchar(max), (case when c1 is null then 'N;' else concat(len((c1 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c1, ';') end + case when c2 is null then 'N;' else concat(len((c2 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c2, ';') end + case when c3 is null then 'N;' else concat(len((c3 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c3, ';') end + case when c4 is null then 'N;' else concat(len((c4 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c4, ';') end + case when c5 is null then 'N;' else concat(len((c5 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c5, ';') end + case when c6 is null then 'N;' else concat(len((c6 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c6, ';') end + case when c7 is null then 'N;' else concat(len((c7 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c7, ';') end + case when c8 is null then 'N;' else concat(len((c8 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c8, ';') end + case when c9 is null then 'N;' else concat(len((c9 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c9, ';') end) collate Latin1_General_100_BIN2_UTF8)), 2)) as row_digest
    from texts
)

select
    convert(bigint, convert(varbinary(8), '0' + left(key_digest, 15), 2)) % 1024 as bucket,
    count(*) as row_count,
    convert(varchar(40), sum(convert(decimal(38, 0), convert(bigint, convert(varbinary(8), '0' + left(row_digest, 15), 2))))) as total
from digests
where convert(bigint, convert(varbinary(8), '0' + left(key_digest, 15), 2)) % 64 in (7, 9)
group by convert(bigint, convert(varbinary(8), '0' + left(key_digest, 15), 2)) % 1024;

with texts as (
    select
        convert(varchar(20), [id]) as c1,
        case [c 1] when 0 then 'false' when 1 then 'true' end as c2,
        case when convert(varchar(50), [c 2]) like '%.%' then case when left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1) like '%.' then left(left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1), len(left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1)) - 1) else left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1) end else convert(varchar(50), [c 2]) end as c3,
        convert(char(10), [c 3], 23) as c4,
        convert(varchar(20), datediff_big(second, '1970-01-01', cast([c 4] as datetime2(6))) * 1000000 + datepart(microsecond, cast([c 4] as datetime2(6)))) as c5,
        convert(varchar(20), datediff_big(second, '1970-01-01', cast(switchoffset([c 5], 0) as datetime2(6))) * 1000000 + datepart(microsecond, cast(switchoffset([c 5], 0) as datetime2(6)))) as c6,
        convert(varchar(max), [c 6], 2) as c7,
        convert(nvarchar(max), [c 7]) as c8,
        convert(varchar(36), [c 8]) as c9
    from [shop].[Orders]
),

digests as (
    select
        lower(convert(char(32), hashbytes('MD5', convert(varchar(max), (case when c1 is null then 'N;' else concat(len((c1 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c1, ';') end + case when c2 is null then 'N;' else concat(len((c2 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c2, ';') end + case when c3 is null then 'N;' else concat(len((c3 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c3, ';') end + case when c4 is null then 'N;' else concat(len((c4 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c4, ';') end + case when c5 is null then 'N;' else concat(len((c5 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c5, ';') end + case when c6 is null then 'N;' else concat(len((c6 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c6, ';') end + case when c7 is null then 'N;' else concat(len((c7 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c7, ';') end + case when c8 is null then 'N;' else concat(len((c8 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c8, ';') end + case when c9 is null then 'N;' else concat(len((c9 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c9, ';') end) collate Latin1_General_100_BIN2_UTF8)), 2)) as key_digest,
        lower(convert(char(32), hashbytes('MD5', convert(varchar(max), (case when c1 is null then 'N;' else concat(len((c1 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c1, ';') end + case when c2 is null then 'N;' else concat(len((c2 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c2, ';') end + case when c3 is null then 'N;' else concat(len((c3 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c3, ';') end + case when c4 is null then 'N;' else concat(len((c4 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c4, ';') end + case when c5 is null then 'N;' else concat(len((c5 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c5, ';') end + case when c6 is null then 'N;' else concat(len((c6 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c6, ';') end + case when c7 is null then 'N;' else concat(len((c7 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c7, ';') end + case when c8 is null then 'N;' else concat(len((c8 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c8, ';') end + case when c9 is null then 'N;' else concat(len((c9 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c9, ';') end) collate Latin1_General_100_BIN2_UTF8)), 2)) as row_digest
    from texts
)

select
    key_digest,
    row_digest,
    count(*) as copies
from digests
group by key_digest, row_digest;

with texts as (
    select
        convert(varchar(20), [id]) as c1,
        case [c 1] when 0 then 'false' when 1 then 'true' end as c2,
        case when convert(varchar(50), [c 2]) like '%.%' then case when left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1) like '%.' then left(left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1), len(left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1)) - 1) else left(convert(varchar(50), [c 2]), len(convert(varchar(50), [c 2])) - patindex('%[^0]%', reverse(convert(varchar(50), [c 2])) + '.') + 1) end else convert(varchar(50), [c 2]) end as c3,
        convert(char(10), [c 3], 23) as c4,
        convert(varchar(20), datediff_big(second, '1970-01-01', cast([c 4] as datetime2(6))) * 1000000 + datepart(microsecond, cast([c 4] as datetime2(6)))) as c5,
        convert(varchar(20), datediff_big(second, '1970-01-01', cast(switchoffset([c 5], 0) as datetime2(6))) * 1000000 + datepart(microsecond, cast(switchoffset([c 5], 0) as datetime2(6)))) as c6,
        convert(varchar(max), [c 6], 2) as c7,
        convert(nvarchar(max), [c 7]) as c8,
        convert(varchar(36), [c 8]) as c9
    from [shop].[Orders]
),

digests as (
    select
        c1,
        c2,
        c3,
        c4,
        c5,
        c6,
        c7,
        c8,
        c9,
        lower(convert(char(32), hashbytes('MD5', convert(varchar(max), (case when c1 is null then 'N;' else concat(len((c1 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c1, ';') end) collate Latin1_General_100_BIN2_UTF8)), 2)) as key_digest,
        lower(convert(char(32), hashbytes('MD5', convert(varchar(max), (case when c1 is null then 'N;' else concat(len((c1 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c1, ';') end + case when c2 is null then 'N;' else concat(len((c2 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c2, ';') end + case when c3 is null then 'N;' else concat(len((c3 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c3, ';') end + case when c4 is null then 'N;' else concat(len((c4 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c4, ';') end + case when c5 is null then 'N;' else concat(len((c5 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c5, ';') end + case when c6 is null then 'N;' else concat(len((c6 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c6, ';') end + case when c7 is null then 'N;' else concat(len((c7 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c7, ';') end + case when c8 is null then 'N;' else concat(len((c8 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c8, ';') end + case when c9 is null then 'N;' else concat(len((c9 collate Latin1_General_100_BIN2_SC) + '.') - 1, ':', c9, ';') end) collate Latin1_General_100_BIN2_UTF8)), 2)) as row_digest
    from texts
)

select
    key_digest,
    row_digest,
    c1,
    c2,
    c3,
    c4,
    c5,
    c6,
    c7,
    c8,
    c9
from digests
where key_digest in ('c4ca4238a0b923820dcc509a6f75849b');

