with texts as (
    select
        cast(`id` as string) as c1,
        `full name` as c2,
        trim(trailing '.' from trim(trailing '0' from cast(`balance` as string))) as c3
    from shop.customers_of_events
    where coalesce(_operation, '') <> 'D'
),

digests as (
    select
        c1, c2, c3,
        md5(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;'))) as key_digest,
        md5(concat(coalesce(concat(char_length(c1), ':', c1, ';'), 'N;'), coalesce(concat(char_length(c2), ':', c2, ';'), 'N;'), coalesce(concat(char_length(c3), ':', c3, ';'), 'N;'))) as row_digest
    from texts
)

select to_json(array(key_digest, row_digest, c1, c2, c3)) as answer
from digests
where key_digest in ('c4ca4238a0b923820dcc509a6f75849b')
