select
    `_key_hash`,
    `_commit_id`,
    to_date(substr(cast(_commit_id as string), 1, 6), 'yyMMdd') as _commit_date,
    cast(pmod(xxhash64(_key_hash), 4) as int) as _bucket
from (
    select _key_hash, _commit_id from logged
)
where
    if(
        (select count(*) from shop.customers_feed where (_commit_id > 260304093000114)) = 0,
        true,
        raise_error('customers_feed: another run of the model read the same changes meanwhile. This run wrote nothing. Run the model again')
    )
distribute by _bucket
