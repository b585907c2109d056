-- The feed, applied in its order to nothing, gives the current table.
{% set columns = [
    ('icao', 'string'), ('iata', 'string'), ('name', 'string'), ('city', 'string'), ('subd', 'string'), ('country', 'string'),
    ('elevation', 'double'), ('lat', 'double'), ('lon', 'double'), ('tz', 'string'), ('lid', 'string'),
] %}
{% set names = columns | map('first') | join(', ') %}
with last_changes as (
    select max_by(struct(_operation, _change), struct(_commit_id, _position)) as last
    from {{ ref('airports_feed') }}
    group by _key_hash
),

images as (
    select from_json(last._change, 'post_image struct<{% for name, type in columns %}{{ ', ' if not loop.first }}{{ name }}: {{ type }}{% endfor %}>').post_image as image
    from last_changes
    where last._operation <> 'D'
),

replayed as (
    select image.*
    from images
)

(select {{ names }} from replayed except all select {{ names }} from {{ ref('airports') }})
union all
(select {{ names }} from {{ ref('airports') }} except all select {{ names }} from replayed)
