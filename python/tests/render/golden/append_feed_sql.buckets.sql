insert into shop.customers_feed (
    `_key_hash`,
    `_commit_id`,
    `_commit_date`,
    `_bucket`
)
select
    `_key_hash`,
    `_commit_id`,
    to_date(substr(cast(_commit_id as string), 1, 6), 'yyMMdd') as _commit_date,
    cast(pmod(xxhash64(_key_hash), 4) as int) as _bucket
from (
    select _key_hash, _commit_id from logged
)
distribute by _bucket
