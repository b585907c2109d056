-- Each model of the chain has all of the one before it: the same moves, commit by commit.
with fed as (
    select _commit_id, count(*) as moves
    from {{ ref('airports_feed') }}
    where _operation = 'U' and arrays_overlap(_changed_fields, array('lat', 'lon'))
    group by _commit_id
),

moved as (
    select _commit_id, count(*) as moves
    from {{ ref('airports_moved') }}
    group by _commit_id
),

counted as (
    select _commit_id, sum(airports) as moves
    from {{ ref('airports_moved_by_country') }}
    group by _commit_id
)

select fed._commit_id, fed.moves, moved.moves as moved, counted.moves as counted
from fed
full join moved on fed._commit_id = moved._commit_id
full join counted on fed._commit_id = counted._commit_id
where not (fed.moves <=> moved.moves and moved.moves <=> counted.moves)
