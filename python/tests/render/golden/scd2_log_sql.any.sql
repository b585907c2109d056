select
    coalesce(greatest(max(_commit_id), max(_superseded_by)), 0) as last_commit_id,
    count_if(_superseded_by is null) as row_count,
    count_if(_commit_id <= 260304093000123 and (_superseded_by is null or _superseded_by > 260304093000123))
        as watermark_count
from shop.customers__log
