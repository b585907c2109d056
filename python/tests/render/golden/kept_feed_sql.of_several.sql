select
    `_key_hash`,
    `_commit_id`
from shop.customers_feed
where
    (_commit_id > 260304093000114 or _commit_id in (260303093000123, 260304093000112))
    and _commit_id <= 260304093000123
    and not (_commit_id in (260304093000121))
    and _commit_date >= to_date(substr(cast(260303093000123 as string), 1, 6), 'yyMMdd')
    and _commit_date <= to_date(substr(cast(260304093000123 as string), 1, 6), 'yyMMdd')
order by _commit_id asc nulls last
