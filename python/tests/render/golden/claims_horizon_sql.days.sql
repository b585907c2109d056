select unix_micros(if(max(etl_tstamp) > current_timestamp(), current_timestamp(),
    max(etl_tstamp)) - interval 180 days) as horizon
from shop.tidemark_commits
where state = 'completed' and relation = 'shop.atomic_events'
