{#- What an operation needs of a `materialized: atomic` model, once no commit is in flight; see open_entity(). -#}
{%- macro open_atomic(entity) -%}
    {%- set cfg = tidemark.atomic_config(tidemark.entity_node(entity, ['atomic'])) -%}
    {%- set run = tidemark.run_config() -%}
    {%- set relations = tidemark.atomic_relations(cfg) -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set state = tidemark.settled_state(cfg, run, relations, commits) -%}
    {{ return({'cfg': cfg, 'run': run, 'relations': relations, 'commits': commits, 'state': state, 'events': cfg['relation']}) }}
{%- endmacro -%}


{#- The node of a model by its name, if it has this materialization, or none. -#}
{%- macro node_if(name, materialized) -%}
    {%- for node in graph.nodes.values() if node['resource_type'] == 'model' and node['config']['materialized'] == materialized and node['name'] == name -%}
        {{ return(node) }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}
