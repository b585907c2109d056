with texts as (
    select
        cast(`id` as char) as c1,
        case when `c 1` = 0 then 'false' when `c 1` is not null then 'true' end as c2,
        case when cast(`c 2` as char) like '%.%' then trim(trailing '.' from trim(trailing '0' from cast(`c 2` as char))) else cast(`c 2` as char) end as c3,
        case when abs(cast(`c 3` as double)) < 9007199254740992 and cast(`c 3` as double) = floor(cast(`c 3` as double)) then cast(cast(cast(`c 3` as double) as signed) as char) when cast(`c 3` as double) is not null then concat(case when cast(`c 3` as double) < 0 then '-' else '' end, case when (abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) < 1 then '0x0.' else '0x1.' end, coalesce(nullif(trim(trailing '0' from lpad(lower(conv(cast(((abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) - ((abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) >= 1)) * 4503599627370496 as unsigned), 10, 16)), 13, '0')), ''), '0'), 'p', cast((least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)) as signed)) end as c4,
        date_format(`c 4`, '%Y-%m-%d') as c5,
        cast(timestampdiff(microsecond, '1970-01-01 00:00:00', `c 5`) as char) as c6,
        concat(time_format(`c 6`, '%H:%i:%s'), case when microsecond(`c 6`) = 0 then '' else concat('.', lpad(microsecond(`c 6`), 6, '0')) end) as c7,
        hex(`c 7`) as c8,
        convert(`c 8` using utf8mb4) as c9
    from `shop`.`Orders`
),

digests as (
    select
        md5(convert(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;')) using utf8mb4)) as key_digest,
        md5(convert(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;'), coalesce(concat(char_length(c2), ':', c2, ';'), 'N;'), coalesce(concat(char_length(c3), ':', c3, ';'), 'N;'), coalesce(concat(char_length(c4), ':', c4, ';'), 'N;'), coalesce(concat(char_length(c5), ':', c5, ';'), 'N;'), coalesce(concat(char_length(c6), ':', c6, ';'), 'N;'), coalesce(concat(char_length(c7), ':', c7, ';'), 'N;'), coalesce(concat(char_length(c8), ':', c8, ';'), 'N;'), coalesce(concat(char_length(c9), ':', c9, ';'), 'N;')) using utf8mb4)) as row_digest
    from texts
)

select
    mod(cast(conv(left(key_digest, 15), 16, 10) as unsigned), 1024) as bucket,
    count(*) as row_count,
    cast(sum(cast(conv(left(row_digest, 15), 16, 10) as unsigned)) as char) as total
from digests
where mod(cast(conv(left(key_digest, 15), 16, 10) as unsigned), 64) in (7, 9)
group by mod(cast(conv(left(key_digest, 15), 16, 10) as unsigned), 1024);

with texts as (
    select
        cast(`id` as char) as c1,
        case when `c 1` = 0 then 'false' when `c 1` is not null then 'true' end as c2,
        case when cast(`c 2` as char) like '%.%' then trim(trailing '.' from trim(trailing '0' from cast(`c 2` as char))) else cast(`c 2` as char) end as c3,
        case when abs(cast(`c 3` as double)) < 9007199254740992 and cast(`c 3` as double) = floor(cast(`c 3` as double)) then cast(cast(cast(`c 3` as double) as signed) as char) when cast(`c 3` as double) is not null then concat(case when cast(`c 3` as double) < 0 then '-' else '' end, case when (abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) < 1 then '0x0.' else '0x1.' end, coalesce(nullif(trim(trailing '0' from lpad(lower(conv(cast(((abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) - ((abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) >= 1)) * 4503599627370496 as unsigned), 10, 16)), 13, '0')), ''), '0'), 'p', cast((least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)) as signed)) end as c4,
        date_format(`c 4`, '%Y-%m-%d') as c5,
        cast(timestampdiff(microsecond, '1970-01-01 00:00:00', `c 5`) as char) as c6,
        concat(time_format(`c 6`, '%H:%i:%s'), case when microsecond(`c 6`) = 0 then '' else concat('.', lpad(microsecond(`c 6`), 6, '0')) end) as c7,
        hex(`c 7`) as c8,
        convert(`c 8` using utf8mb4) as c9
    from `shop`.`Orders`
),

digests as (
    select
        md5(convert(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;'), coalesce(concat(char_length(c2), ':', c2, ';'), 'N;'), coalesce(concat(char_length(c3), ':', c3, ';'), 'N;'), coalesce(concat(char_length(c4), ':', c4, ';'), 'N;'), coalesce(concat(char_length(c5), ':', c5, ';'), 'N;'), coalesce(concat(char_length(c6), ':', c6, ';'), 'N;'), coalesce(concat(char_length(c7), ':', c7, ';'), 'N;'), coalesce(concat(char_length(c8), ':', c8, ';'), 'N;'), coalesce(concat(char_length(c9), ':', c9, ';'), 'N;')) using utf8mb4)) as key_digest,
        md5(convert(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;'), coalesce(concat(char_length(c2), ':', c2, ';'), 'N;'), coalesce(concat(char_length(c3), ':', c3, ';'), 'N;'), coalesce(concat(char_length(c4), ':', c4, ';'), 'N;'), coalesce(concat(char_length(c5), ':', c5, ';'), 'N;'), coalesce(concat(char_length(c6), ':', c6, ';'), 'N;'), coalesce(concat(char_length(c7), ':', c7, ';'), 'N;'), coalesce(concat(char_length(c8), ':', c8, ';'), 'N;'), coalesce(concat(char_length(c9), ':', c9, ';'), 'N;')) using utf8mb4)) as row_digest
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
        cast(`id` as char) as c1,
        case when `c 1` = 0 then 'false' when `c 1` is not null then 'true' end as c2,
        case when cast(`c 2` as char) like '%.%' then trim(trailing '.' from trim(trailing '0' from cast(`c 2` as char))) else cast(`c 2` as char) end as c3,
        case when abs(cast(`c 3` as double)) < 9007199254740992 and cast(`c 3` as double) = floor(cast(`c 3` as double)) then cast(cast(cast(`c 3` as double) as signed) as char) when cast(`c 3` as double) is not null then concat(case when cast(`c 3` as double) < 0 then '-' else '' end, case when (abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) < 1 then '0x0.' else '0x1.' end, coalesce(nullif(trim(trailing '0' from lpad(lower(conv(cast(((abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) - ((abs(cast(`c 3` as double)) / pow(2, (least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)))) >= 1)) * 4503599627370496 as unsigned), 10, 16)), 13, '0')), ''), '0'), 'p', cast((least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) + ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) >= 2) - ((abs(cast(`c 3` as double)) / pow(2, least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023))) < 1 and least(greatest(floor(log2(abs(cast(`c 3` as double)))), -1022), 1023) > -1022)) as signed)) end as c4,
        date_format(`c 4`, '%Y-%m-%d') as c5,
        cast(timestampdiff(microsecond, '1970-01-01 00:00:00', `c 5`) as char) as c6,
        concat(time_format(`c 6`, '%H:%i:%s'), case when microsecond(`c 6`) = 0 then '' else concat('.', lpad(microsecond(`c 6`), 6, '0')) end) as c7,
        hex(`c 7`) as c8,
        convert(`c 8` using utf8mb4) as c9
    from `shop`.`Orders`
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
        md5(convert(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;')) using utf8mb4)) as key_digest,
        md5(convert(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;'), coalesce(concat(char_length(c2), ':', c2, ';'), 'N;'), coalesce(concat(char_length(c3), ':', c3, ';'), 'N;'), coalesce(concat(char_length(c4), ':', c4, ';'), 'N;'), coalesce(concat(char_length(c5), ':', c5, ';'), 'N;'), coalesce(concat(char_length(c6), ':', c6, ';'), 'N;'), coalesce(concat(char_length(c7), ':', c7, ';'), 'N;'), coalesce(concat(char_length(c8), ':', c8, ';'), 'N;'), coalesce(concat(char_length(c9), ':', c9, ';'), 'N;')) using utf8mb4)) as row_digest
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

