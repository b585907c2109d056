{#- The states of an entity's commits as those of another one, without those in flight; `since` that of a
    commit. `relations` are the two, `schemas` what the names of tables begin with, and with what afterwards.
    -#}
{%- macro cloned_states_sql(states, relations, schemas, since=none) -%}
select
    {%- for column in tidemark.commit_columns() %}
    {%- if column['name'] == 'relation' %}
    {{ tidemark.string_literal(relations[1]) }} as relation
    {%- elif column['name'] == 'source_relation' %}
    if(
        startswith(source_relation, {{ tidemark.string_literal(schemas[0] ~ '.') }})
            or startswith(source_relation, {{ tidemark.string_literal(schemas[0] ~ '_') }}),
        concat({{ tidemark.string_literal(schemas[1]) }}, substring(source_relation, {{ schemas[0] | length
            + 1 }})),
        source_relation
    ) as source_relation
    {%- else %}
    {{ column['name'] }}
    {%- endif %}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ states }}
where
    relation = {{ tidemark.string_literal(relations[0]) }}
    and state <> 'inflight'
    and kind <> 'clone'
    {%- if since %}
    and state_at > (select max(marks.state_at) from {{ states }} as marks
        where marks.relation = {{ tidemark.string_literal(relations[0]) }} and marks.commit_id = {{ since }})
    {%- endif %}
{%- endmacro -%}

{#- The clones that a table of commits tells of an entity, whatever became of them. -#}
{%- macro clones_of_sql(states, relation) -%}
select distinct relation as name
from {{ states }}
where kind = 'clone' and source_relation = {{ tidemark.string_literal(relation) }}
{%- endmacro -%}
