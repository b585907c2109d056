select path
from bounded, (
    select
        min(case when is_numbered then num end) as low,
        max(case when is_numbered then num end) as high,
        min(case when not is_numbered then place end) as early,
        max(case when not is_numbered then place end) as late,
        bool_or(not is_numbered and place is null
            and (event_time is not null or transaction_id is not null)) as by_content
    from staged
)
where by_content
    or (low is not null and coalesce(first <= high and last >= low, true))
    or (early is not null and coalesce(least <= late and greatest >= early, true))
