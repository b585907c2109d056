with texts as (
    select
        "id"::text as c1,
        "c 1"::text as c2,
        ("c 2" = B'1')::text as c3,
        case when upper("c 3"::numeric::text) like '%.%' then rtrim(rtrim(upper("c 3"::numeric::text), '0'), '.') when upper("c 3"::numeric::text) = 'INFINITY' then 'POSITIVE_INFINITY' when upper("c 3"::numeric::text) = '-INFINITY' then 'NEGATIVE_INFINITY' else upper("c 3"::numeric::text) end as c4,
        case when "c 4"::float8 in ('NaN', 'Infinity', '-Infinity') then "c 4"::float8::text when abs("c 4"::float8) < 9007199254740992 and "c 4"::float8 = trunc("c 4"::float8) then "c 4"::float8::bigint::text when "c 4"::float8 is not null then case when "c 4"::float8 < 0 then '-' else '' end || case when ('x' || lpad(left(encode(float8send(abs("c 4"::float8)), 'hex'), 3), 8, '0'))::bit(32)::int = 0 then '0x0.' || coalesce(nullif(rtrim(right(encode(float8send(abs("c 4"::float8)), 'hex'), 13), '0'), ''), '0') || 'p-1022' else '0x1.' || coalesce(nullif(rtrim(right(encode(float8send(abs("c 4"::float8)), 'hex'), 13), '0'), ''), '0') || 'p' || (('x' || lpad(left(encode(float8send(abs("c 4"::float8)), 'hex'), 3), 8, '0'))::bit(32)::int - 1023) end end as c5,
        "c 5"::text as c6,
        case when isfinite("c 6") then (extract(epoch from date_trunc('second', "c 6"))::bigint * 1000000 + extract(microseconds from "c 6")::bigint % 1000000)::text else "c 6"::text end as c7,
        to_char("c 7", 'HH24:MI:SS') || case when extract(microseconds from "c 7")::bigint % 1000000 = 0 then '' else to_char("c 7", '.US') end as c8,
        upper(encode("c 8", 'hex')) as c9,
        "c 9"::text as c10,
        case when "c 10" is not null then format('%s', "c 10") end as c11,
        case when "c 11" is not null then (select '[' || coalesce(string_agg(coalesce(char_length(t) || ':' || t || ';', 'N;'), '' order by n), '') || ']' from (select n, case when upper(e::numeric::text) like '%.%' then rtrim(rtrim(upper(e::numeric::text), '0'), '.') when upper(e::numeric::text) = 'INFINITY' then 'POSITIVE_INFINITY' when upper(e::numeric::text) = '-INFINITY' then 'NEGATIVE_INFINITY' else upper(e::numeric::text) end as t from unnest("c 11") with ordinality as u (e, n)) as items) end as c12
    from "shop"."Orders"
),

digests as (
    select
        md5(convert_to(coalesce(char_length(c1) || ':' || c1 || ';', 'N;'), 'UTF8')) as key_digest,
        md5(convert_to(coalesce(char_length(c1) || ':' || c1 || ';', 'N;') || coalesce(char_length(c2) || ':' || c2 || ';', 'N;') || coalesce(char_length(c3) || ':' || c3 || ';', 'N;') || coalesce(char_length(c4) || ':' || c4 || ';', 'N;') || coalesce(char_length(c5) || ':' || c5 || ';', 'N;') || coalesce(char_length(c6) || ':' || c6 || ';', 'N;') || coalesce(char_length(c7) || ':' || c7 || ';', 'N;') || coalesce(char_length(c8) || ':' || c8 || ';', 'N;') || coalesce(char_length(c9) || ':' || c9 || ';', 'N;') || coalesce(char_length(c10) || ':' || c10 || ';', 'N;') || coalesce(char_length(c11) || ':' || c11 || ';', 'N;') || coalesce(char_length(c12) || ':' || c12 || ';', 'N;'), 'UTF8')) as row_digest
    from texts
)

select
    mod(('x' || left(key_digest, 15))::bit(60)::bigint, 1024) as bucket,
    count(*) as row_count,
    sum(('x' || left(row_digest, 15))::bit(60)::bigint)::text as total
from digests
where mod(('x' || left(key_digest, 15))::bit(60)::bigint, 64) in (7, 9)
group by mod(('x' || left(key_digest, 15))::bit(60)::bigint, 1024);

with texts as (
    select
        "id"::text as c1,
        "c 1"::text as c2,
        ("c 2" = B'1')::text as c3,
        case when upper("c 3"::numeric::text) like '%.%' then rtrim(rtrim(upper("c 3"::numeric::text), '0'), '.') when upper("c 3"::numeric::text) = 'INFINITY' then 'POSITIVE_INFINITY' when upper("c 3"::numeric::text) = '-INFINITY' then 'NEGATIVE_INFINITY' else upper("c 3"::numeric::text) end as c4,
        case when "c 4"::float8 in ('NaN', 'Infinity', '-Infinity') then "c 4"::float8::text when abs("c 4"::float8) < 9007199254740992 and "c 4"::float8 = trunc("c 4"::float8) then "c 4"::float8::bigint::text when "c 4"::float8 is not null then case when "c 4"::float8 < 0 then '-' else '' end || case when ('x' || lpad(left(encode(float8send(abs("c 4"::float8)), 'hex'), 3), 8, '0'))::bit(32)::int = 0 then '0x0.' || coalesce(nullif(rtrim(right(encode(float8send(abs("c 4"::float8)), 'hex'), 13), '0'), ''), '0') || 'p-1022' else '0x1.' || coalesce(nullif(rtrim(right(encode(float8send(abs("c 4"::float8)), 'hex'), 13), '0'), ''), '0') || 'p' || (('x' || lpad(left(encode(float8send(abs("c 4"::float8)), 'hex'), 3), 8, '0'))::bit(32)::int - 1023) end end as c5,
        "c 5"::text as c6,
        case when isfinite("c 6") then (extract(epoch from date_trunc('second', "c 6"))::bigint * 1000000 + extract(microseconds from "c 6")::bigint % 1000000)::text else "c 6"::text end as c7,
        to_char("c 7", 'HH24:MI:SS') || case when extract(microseconds from "c 7")::bigint % 1000000 = 0 then '' else to_char("c 7", '.US') end as c8,
        upper(encode("c 8", 'hex')) as c9,
        "c 9"::text as c10,
        case when "c 10" is not null then format('%s', "c 10") end as c11,
        case when "c 11" is not null then (select '[' || coalesce(string_agg(coalesce(char_length(t) || ':' || t || ';', 'N;'), '' order by n), '') || ']' from (select n, case when upper(e::numeric::text) like '%.%' then rtrim(rtrim(upper(e::numeric::text), '0'), '.') when upper(e::numeric::text) = 'INFINITY' then 'POSITIVE_INFINITY' when upper(e::numeric::text) = '-INFINITY' then 'NEGATIVE_INFINITY' else upper(e::numeric::text) end as t from unnest("c 11") with ordinality as u (e, n)) as items) end as c12
    from "shop"."Orders"
),

digests as (
    select
        md5(convert_to(coalesce(char_length(c1) || ':' || c1 || ';', 'N;') || coalesce(char_length(c2) || ':' || c2 || ';', 'N;') || coalesce(char_length(c3) || ':' || c3 || ';', 'N;') || coalesce(char_length(c4) || ':' || c4 || ';', 'N;') || coalesce(char_length(c5) || ':' || c5 || ';', 'N;') || coalesce(char_length(c6) || ':' || c6 || ';', 'N;') || coalesce(char_length(c7) || ':' || c7 || ';', 'N;') || coalesce(char_length(c8) || ':' || c8 || ';', 'N;') || coalesce(char_length(c9) || ':' || c9 || ';', 'N;') || coalesce(char_length(c10) || ':' || c10 || ';', 'N;') || coalesce(char_length(c11) || ':' || c11 || ';', 'N;') || coalesce(char_length(c12) || ':' || c12 || ';', 'N;'), 'UTF8')) as key_digest,
        md5(convert_to(coalesce(char_length(c1) || ':' || c1 || ';', 'N;') || coalesce(char_length(c2) || ':' || c2 || ';', 'N;') || coalesce(char_length(c3) || ':' || c3 || ';', 'N;') || coalesce(char_length(c4) || ':' || c4 || ';', 'N;') || coalesce(char_length(c5) || ':' || c5 || ';', 'N;') || coalesce(char_length(c6) || ':' || c6 || ';', 'N;') || coalesce(char_length(c7) || ':' || c7 || ';', 'N;') || coalesce(char_length(c8) || ':' || c8 || ';', 'N;') || coalesce(char_length(c9) || ':' || c9 || ';', 'N;') || coalesce(char_length(c10) || ':' || c10 || ';', 'N;') || coalesce(char_length(c11) || ':' || c11 || ';', 'N;') || coalesce(char_length(c12) || ':' || c12 || ';', 'N;'), 'UTF8')) as row_digest
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
        "id"::text as c1,
        "c 1"::text as c2,
        ("c 2" = B'1')::text as c3,
        case when upper("c 3"::numeric::text) like '%.%' then rtrim(rtrim(upper("c 3"::numeric::text), '0'), '.') when upper("c 3"::numeric::text) = 'INFINITY' then 'POSITIVE_INFINITY' when upper("c 3"::numeric::text) = '-INFINITY' then 'NEGATIVE_INFINITY' else upper("c 3"::numeric::text) end as c4,
        case when "c 4"::float8 in ('NaN', 'Infinity', '-Infinity') then "c 4"::float8::text when abs("c 4"::float8) < 9007199254740992 and "c 4"::float8 = trunc("c 4"::float8) then "c 4"::float8::bigint::text when "c 4"::float8 is not null then case when "c 4"::float8 < 0 then '-' else '' end || case when ('x' || lpad(left(encode(float8send(abs("c 4"::float8)), 'hex'), 3), 8, '0'))::bit(32)::int = 0 then '0x0.' || coalesce(nullif(rtrim(right(encode(float8send(abs("c 4"::float8)), 'hex'), 13), '0'), ''), '0') || 'p-1022' else '0x1.' || coalesce(nullif(rtrim(right(encode(float8send(abs("c 4"::float8)), 'hex'), 13), '0'), ''), '0') || 'p' || (('x' || lpad(left(encode(float8send(abs("c 4"::float8)), 'hex'), 3), 8, '0'))::bit(32)::int - 1023) end end as c5,
        "c 5"::text as c6,
        case when isfinite("c 6") then (extract(epoch from date_trunc('second', "c 6"))::bigint * 1000000 + extract(microseconds from "c 6")::bigint % 1000000)::text else "c 6"::text end as c7,
        to_char("c 7", 'HH24:MI:SS') || case when extract(microseconds from "c 7")::bigint % 1000000 = 0 then '' else to_char("c 7", '.US') end as c8,
        upper(encode("c 8", 'hex')) as c9,
        "c 9"::text as c10,
        case when "c 10" is not null then format('%s', "c 10") end as c11,
        case when "c 11" is not null then (select '[' || coalesce(string_agg(coalesce(char_length(t) || ':' || t || ';', 'N;'), '' order by n), '') || ']' from (select n, case when upper(e::numeric::text) like '%.%' then rtrim(rtrim(upper(e::numeric::text), '0'), '.') when upper(e::numeric::text) = 'INFINITY' then 'POSITIVE_INFINITY' when upper(e::numeric::text) = '-INFINITY' then 'NEGATIVE_INFINITY' else upper(e::numeric::text) end as t from unnest("c 11") with ordinality as u (e, n)) as items) end as c12
    from "shop"."Orders"
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
        c10,
        c11,
        c12,
        md5(convert_to(coalesce(char_length(c1) || ':' || c1 || ';', 'N;'), 'UTF8')) as key_digest,
        md5(convert_to(coalesce(char_length(c1) || ':' || c1 || ';', 'N;') || coalesce(char_length(c2) || ':' || c2 || ';', 'N;') || coalesce(char_length(c3) || ':' || c3 || ';', 'N;') || coalesce(char_length(c4) || ':' || c4 || ';', 'N;') || coalesce(char_length(c5) || ':' || c5 || ';', 'N;') || coalesce(char_length(c6) || ':' || c6 || ';', 'N;') || coalesce(char_length(c7) || ':' || c7 || ';', 'N;') || coalesce(char_length(c8) || ':' || c8 || ';', 'N;') || coalesce(char_length(c9) || ':' || c9 || ';', 'N;') || coalesce(char_length(c10) || ':' || c10 || ';', 'N;') || coalesce(char_length(c11) || ':' || c11 || ';', 'N;') || coalesce(char_length(c12) || ':' || c12 || ';', 'N;'), 'UTF8')) as row_digest
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
    c9,
    c10,
    c11,
    c12
from digests
where key_digest in ('c4ca4238a0b923820dcc509a6f75849b');

