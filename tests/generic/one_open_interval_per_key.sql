{#- Keys with more than one open interval (`_valid_to` NULL, or `open_end`), of a table of scd2 intervals; with both `axes`
    at any moment. -#}
{% test one_open_interval_per_key(model, keys=['_key_hash'], valid_from='_valid_from', valid_to='_valid_to', open_end=none, axes=none) %}

{%- set model, keys = tidemark.intervals_at_moments(model, keys, axes) -%}
select
    {{ tidemark.column_list_expr(keys) }},
    count(*) as open_intervals,
    sort_array(collect_list({{ tidemark.quote_identifier(valid_from) }})) as open_since
from {{ model }}
where {{ tidemark.closed_end_expr(valid_to, open_end) }} is null
group by
    {{ tidemark.column_list_expr(keys) }}
having count(*) > 1

{% endtest %}
