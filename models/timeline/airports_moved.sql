with changes as (
    select
        *,
        from_json(
            _change,
            'pre_image struct<lat: double, lon: double>, post_image struct<country: string, lat: double, lon: double>'
        ) as images
    from ({{ tidemark.change_feed(ref('airports_feed')) }})
    where _operation = 'U' and arrays_overlap(_changed_fields, array('lat', 'lon'))
),

moves as (
    select
        icao,
        images.post_image.country as country,
        images.pre_image.lat as old_lat,
        images.pre_image.lon as old_lon,
        images.post_image.lat as new_lat,
        images.post_image.lon as new_lon,
        _commit_id,
        _business_date
    from changes
)

select
    *,
    round(6371008.8 * 2 * asin(sqrt(
        pow(sin(radians(new_lat - old_lat) / 2), 2)
        + cos(radians(old_lat)) * cos(radians(new_lat)) * pow(sin(radians(new_lon - old_lon) / 2), 2)
    )), 1) as distance_m
from moves
