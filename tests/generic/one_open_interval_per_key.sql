{#- Keys with more than one open interval (`_valid_to` NULL), of a table of scd2 intervals. -#}
{% test one_open_interval_per_key(model, keys=['_key_hash']) %}

{%- set keys = [keys] if keys is string else keys -%}
select
    {{ tidemark.column_list_expr(keys) }},
    count(*) as open_intervals,
    sort_array(collect_list(_valid_from)) as open_since
from {{ model }}
where _valid_to is null
group by
    {{ tidemark.column_list_expr(keys) }}
having count(*) > 1

{% endtest %}
