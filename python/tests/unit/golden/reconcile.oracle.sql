with texts as (
    select
        regexp_replace(to_char("id", 'TM9', 'NLS_NUMERIC_CHARACTERS = ''.,'''), '^(-?)[.]', '\10.') as c1,
        to_char((cast(cast("c 1" as timestamp(6)) as date) - date '1970-01-01') * 86400 * 1000000 + to_number(to_char(cast("c 1" as timestamp(6)), 'FF6')), 'TM9') as c2,
        to_char((cast(cast(sys_extract_utc("c 2") as timestamp(6)) as date) - date '1970-01-01') * 86400 * 1000000 + to_number(to_char(cast(sys_extract_utc("c 2") as timestamp(6)), 'FF6')), 'TM9') as c3,
        rawtohex("c 3") as c4,
        to_char("c 4") as c5
    from "shop"."Orders"
),

digests as (
    select
        lower(rawtohex(standard_hash(nvl2(c1, length(c1) || ':' || c1 || ';', 'N;'), 'MD5'))) as key_digest,
        lower(rawtohex(standard_hash(nvl2(c1, length(c1) || ':' || c1 || ';', 'N;') || nvl2(c2, length(c2) || ':' || c2 || ';', 'N;') || nvl2(c3, length(c3) || ':' || c3 || ';', 'N;') || nvl2(c4, length(c4) || ':' || c4 || ';', 'N;') || nvl2(c5, length(c5) || ':' || c5 || ';', 'N;'), 'MD5'))) as row_digest
    from texts
)

select
    mod(to_number(substr(key_digest, 1, 15), 'xxxxxxxxxxxxxxx'), 1024) as bucket,
    count(*) as row_count,
    to_char(sum(to_number(substr(row_digest, 1, 15), 'xxxxxxxxxxxxxxx')), 'TM9') as total
from digests
where mod(to_number(substr(key_digest, 1, 15), 'xxxxxxxxxxxxxxx'), 64) in (7, 9)
group by mod(to_number(substr(key_digest, 1, 15), 'xxxxxxxxxxxxxxx'), 1024);

with texts as (
    select
        regexp_replace(to_char("id", 'TM9', 'NLS_NUMERIC_CHARACTERS = ''.,'''), '^(-?)[.]', '\10.') as c1,
        to_char((cast(cast("c 1" as timestamp(6)) as date) - date '1970-01-01') * 86400 * 1000000 + to_number(to_char(cast("c 1" as timestamp(6)), 'FF6')), 'TM9') as c2,
        to_char((cast(cast(sys_extract_utc("c 2") as timestamp(6)) as date) - date '1970-01-01') * 86400 * 1000000 + to_number(to_char(cast(sys_extract_utc("c 2") as timestamp(6)), 'FF6')), 'TM9') as c3,
        rawtohex("c 3") as c4,
        to_char("c 4") as c5
    from "shop"."Orders"
),

digests as (
    select
        lower(rawtohex(standard_hash(nvl2(c1, length(c1) || ':' || c1 || ';', 'N;') || nvl2(c2, length(c2) || ':' || c2 || ';', 'N;') || nvl2(c3, length(c3) || ':' || c3 || ';', 'N;') || nvl2(c4, length(c4) || ':' || c4 || ';', 'N;') || nvl2(c5, length(c5) || ':' || c5 || ';', 'N;'), 'MD5'))) as key_digest,
        lower(rawtohex(standard_hash(nvl2(c1, length(c1) || ':' || c1 || ';', 'N;') || nvl2(c2, length(c2) || ':' || c2 || ';', 'N;') || nvl2(c3, length(c3) || ':' || c3 || ';', 'N;') || nvl2(c4, length(c4) || ':' || c4 || ';', 'N;') || nvl2(c5, length(c5) || ':' || c5 || ';', 'N;'), 'MD5'))) as row_digest
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
        regexp_replace(to_char("id", 'TM9', 'NLS_NUMERIC_CHARACTERS = ''.,'''), '^(-?)[.]', '\10.') as c1,
        to_char((cast(cast("c 1" as timestamp(6)) as date) - date '1970-01-01') * 86400 * 1000000 + to_number(to_char(cast("c 1" as timestamp(6)), 'FF6')), 'TM9') as c2,
        to_char((cast(cast(sys_extract_utc("c 2") as timestamp(6)) as date) - date '1970-01-01') * 86400 * 1000000 + to_number(to_char(cast(sys_extract_utc("c 2") as timestamp(6)), 'FF6')), 'TM9') as c3,
        rawtohex("c 3") as c4,
        to_char("c 4") as c5
    from "shop"."Orders"
),

digests as (
    select
        c1,
        c2,
        c3,
        c4,
        c5,
        lower(rawtohex(standard_hash(nvl2(c1, length(c1) || ':' || c1 || ';', 'N;'), 'MD5'))) as key_digest,
        lower(rawtohex(standard_hash(nvl2(c1, length(c1) || ':' || c1 || ';', 'N;') || nvl2(c2, length(c2) || ':' || c2 || ';', 'N;') || nvl2(c3, length(c3) || ':' || c3 || ';', 'N;') || nvl2(c4, length(c4) || ':' || c4 || ';', 'N;') || nvl2(c5, length(c5) || ':' || c5 || ';', 'N;'), 'MD5'))) as row_digest
    from texts
)

select
    key_digest,
    row_digest,
    c1,
    c2,
    c3,
    c4,
    c5
from digests
where key_digest in ('c4ca4238a0b923820dcc509a6f75849b');

