{#- Make tables of their own over the files of a model's, in another schema, with a line of commits that goes on from there; with `replace` in
    the place of a clone that is there, with `remove` that is taken away. -#}
{%- macro clone(entity, to, replace=false, remove=false, dry_run=false) -%}
    {{ return(tidemark.operation('clone.clone', entity, to, replace, remove, dry_run)) }}
{%- endmacro -%}

{#- Put the log of a clone in the place of the one that it was made of, unless that has moved on, with the clone's commits. -#}
{%- macro promote(entity, schema, dry_run=false) -%}
    {{ return(tidemark.operation('promote.promote', entity, schema, dry_run)) }}
{%- endmacro -%}

{#- The states of an entity's commits as those of another one, without those in flight; `since` that of a commit. Names of relations that
    begin with the schema `was` begin with `now`. -#}
{%- macro cloned_states_sql(states, relation, other, was, now, since=none) -%}
select
    {%- for column in tidemark.commit_columns() %}
    {%- if column['name'] == 'relation' %}
    {{ tidemark.string_literal(other) }} as relation
    {%- elif column['name'] == 'source_relation' %}
    if(
        startswith(source_relation, {{ tidemark.string_literal(was ~ '.') }}) or startswith(source_relation, {{ tidemark.string_literal(was ~ '_') }}),
        concat({{ tidemark.string_literal(now) }}, substring(source_relation, {{ was | length + 1 }})),
        source_relation
    ) as source_relation
    {%- else %}
    {{ column['name'] }}
    {%- endif %}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ states }}
where
    relation = {{ tidemark.string_literal(relation) }}
    and state <> 'inflight'
    and kind <> 'clone'
    {%- if since %}
    and state_at > (select max(state_at) from {{ states }} where relation = {{ tidemark.string_literal(relation) }} and commit_id = {{ since }})
    {%- endif %}
{%- endmacro -%}

{#- The clones that a table of commits tells of an entity, whatever became of them. -#}
{%- macro clones_of_sql(states, relation) -%}
select distinct relation as name
from {{ states }}
where kind = 'clone' and source_relation = {{ tidemark.string_literal(relation) }}
{%- endmacro -%}

{#- The schema of the target, with which those of `+schema` begin. -#}
{%- macro target_schema() -%}{{ return(target.schema) }}{%- endmacro -%}
