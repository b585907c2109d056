select count(distinct _key_hash)
from shop.customers_of_events__log
where
    _commit_id = 260304093000123
    and _operation <> 'D'
    and if(
        '${env:TIDEMARK_PEPPER}' = '' or '${env:TIDEMARK_PEPPER}' like '$%env:%',
        _key_hash,
        sha2(concat('tidemark erased:', '${env:TIDEMARK_PEPPER}', ':', _key_hash), 256)
    ) in ('a1')
