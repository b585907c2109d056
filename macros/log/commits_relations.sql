{#- Where commits are recorded: an append-only table of states, and the view that shows each commit's last
    state. `are_known`: the adapter can tell that nobody else has written there since it asked. -#}
{%- macro commits_relations(run) -%}
    {{ return({
        'states': api.Relation.create(schema=run['commits_schema'], identifier='tidemark_commits__log'),
        'view': api.Relation.create(schema=run['commits_schema'], identifier='tidemark_commits'),
        'are_known': tidemark.can('know_commits'),
    }) }}
{%- endmacro -%}
