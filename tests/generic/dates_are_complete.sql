{#- Business dates that a cdc model was not loaded for, between the first and the last. -#}
{% test dates_are_complete(model, every=none, since=none, except=[]) %}

{%- set commits = tidemark.commits_relations(tidemark.run_config())['view'] -%}
{{ tidemark.missing_dates_sql(
    tidemark.dated_loads_sql(commits, model.schema ~ '.' ~ model.identifier),
    tidemark.load_calendar(every, since, except)
) }}

{% endtest %}
