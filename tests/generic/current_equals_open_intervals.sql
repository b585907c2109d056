{#- Keys whose row in current is not the one of their open interval in the log, or is there more than once, of a cdc model. -#}
{% test current_equals_open_intervals(model) %}

with live_rows as (
    select
        _key_hash,
        _row_hash,
        count(*) over (partition by _key_hash) as row_count
    from {{ model }}
    where _operation <> 'D'
),

open_intervals as (
    select
        _key_hash,
        _row_hash
    from (
        {{ tidemark.scd2(model) | indent(8) }}
    )
    where _is_current
),

judged as (
    select
        coalesce(live_rows._key_hash, open_intervals._key_hash) as _key_hash,
        live_rows._row_hash as current_row_hash,
        open_intervals._row_hash as open_row_hash,
        case
            when live_rows._key_hash is null then 'missing from current'
            when live_rows.row_count > 1 then 'more than once in current'
            when open_intervals._key_hash is null then 'in current without an open interval'
            when not (live_rows._row_hash <=> open_intervals._row_hash) then 'not the row of the open interval'
        end as problem
    from live_rows
    full outer join open_intervals on live_rows._key_hash <=> open_intervals._key_hash
)

select * from judged
where problem is not null

{% endtest %}
