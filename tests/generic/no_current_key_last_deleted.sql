{#- Keys that current shows as live although the last change in their history is a delete, of a cdc model. -#}
{% test no_current_key_last_deleted(model) %}

with last_changes as (
    select
        _key_hash,
        max(_business_date) as _business_date,
        max_by(_operation, {{ tidemark.log_order_expr(tidemark.flow_of(model)) }}) as last_operation
    from {{ tidemark.history(model) }}
    group by _key_hash
)

select
    live_rows._key_hash,
    live_rows._operation,
    live_rows._eff_start_date,
    last_changes._business_date as deleted_on
from {{ model }} as live_rows
inner join last_changes on live_rows._key_hash <=> last_changes._key_hash
where live_rows._operation <> 'D' and last_changes.last_operation = 'D'

{% endtest %}
