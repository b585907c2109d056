select * from {{ ref('airports_hashed') }}
