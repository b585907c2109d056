{#- What an operation needs of a `materialized: atomic` model, once no commit is in flight; a dry run is refused while one is: see
    open_entity(). -#}
{%- macro open_atomic(entity, dry_run=false) -%}
    {%- set cfg = tidemark.atomic_config(tidemark.entity_node(entity, ['atomic'])) -%}
    {%- set run = dict(tidemark.run_config(), dry_run=dry_run) -%}
    {%- set known = {'cfg': cfg, 'run': run, 'relations': tidemark.atomic_relations(cfg), 'commits': tidemark.ensure_commits(run), 'events': cfg['relation']} -%}
    {{ return(dict(known, state=tidemark.settled_state(known))) }}
{%- endmacro -%}

{#- The node of a model by its name, if it has this materialization, or none. -#}
{%- macro node_if(name, materialized) -%}
    {%- for node in graph.nodes.values() if node['resource_type'] == 'model' and node['config']['materialized'] == materialized and node['name'] == name -%}
        {{ return(node) }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}
