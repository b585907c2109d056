-- Python and SQL agree byte for byte: the two entities have the same rows with the same hashes.
(
    select icao, _key_hash, _row_hash, _operation, _business_date from {{ tidemark.history(ref('airports')) }}
    except all
    select icao, _key_hash, _row_hash, _operation, _business_date from {{ tidemark.history(ref('airports_by_rdd')) }}
)
union all
(
    select icao, _key_hash, _row_hash, _operation, _business_date from {{ tidemark.history(ref('airports_by_rdd')) }}
    except all
    select icao, _key_hash, _row_hash, _operation, _business_date from {{ tidemark.history(ref('airports')) }}
)
