select
    _commit_id,
    country,
    any_value(_business_date) as _business_date,
    count(*) as airports,
    max(distance_m) as farthest_m
from ({{ tidemark.change_feed(ref('airports_moved')) }})
group by _commit_id, country
