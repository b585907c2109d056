{#- The intervals that were kept run by run are those that the log gives today. -#}
(
    select * from {{ ref('airports_scd2') }}
    except all
    {{ tidemark.scd2(ref('airports')) }}
)
union all
(
    {{ tidemark.scd2(ref('airports')) }}
    except all
    select * from {{ ref('airports_scd2') }}
)
