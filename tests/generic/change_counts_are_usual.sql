{#- Counts of a cdc model's last load that are not what they usually are. -#}
{% test change_counts_are_usual(model, counts=['inserted', 'updated', 'deleted', 'rejected'], min_rows=10, min_factor=1.5, except=[]) %}

{%- set commits = tidemark.commits_relations(tidemark.run_config())['view'] -%}
{%- set of_events = tidemark.flow_of(model)['flow'] == 'events' -%}
{%- set loads = tidemark.counted_loads_sql(commits, model.schema ~ '.' ~ model.identifier, of_events) -%}
select *
from (
    {{ tidemark.unusual_counts_sql(loads, tidemark.count_options(counts, min_rows, min_factor, except, of_events)) | indent(4) }}
)
where commit_id = (select max(commit_id) from ({{ loads | indent(4) }}))

{% endtest %}
