select
    count(*) as rows_read,
    count_if(_reject_reason is not null) as rows_rejected,
    unix_micros(coalesce(
        max(_etl_tstamp) filter (where _reject_reason is null),
        max(_collector_tstamp) filter (where _reject_reason is null)
    )) as etl_micros,
    unix_micros(coalesce(
        min(_etl_tstamp) filter (where _reject_reason is null),
        min(_collector_tstamp) filter (where _reject_reason is null)
    )) as first_etl_micros
from shop.atomic_events__keys
