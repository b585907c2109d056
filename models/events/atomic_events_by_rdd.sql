select * from {{ ref('events_read') }}
