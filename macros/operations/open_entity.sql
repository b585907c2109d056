{#- What an operation needs of an entity: its node, configuration, relations and state, once nothing is in flight: as a run does, it
    first finishes or rolls back what a dead one left. -#}
{%- macro open_entity(entity, operation, dry_run=false) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- set opened = tidemark.open_load(cfg, dict(tidemark.run_config(), dry_run=dry_run)) -%}
    {%- if not opened['state']['recorded'] -%}
        {%- do tidemark.raise_error('data', entity ~ ': nothing was loaded yet, so there is nothing to ' ~ operation) -%}
    {%- endif -%}
    {{ return(opened) }}
{%- endmacro -%}

{#- The node of a model by its name, else by that of its table, of these materializations; an error that names the nearest one if there is none. -#}
{%- macro entity_node(entity, kinds=['cdc']) -%}
    {%- set names, of_table = [], [] -%}
    {%- for node in graph.nodes.values() if node['resource_type'] == 'model' and node['config']['materialized'] in kinds -%}
        {%- if node['name'] == entity -%}{{ return(node) }}{%- endif -%}
        {%- do names.append(node['name']) -%}
        {%- if node['alias'] == entity -%}{%- do of_table.append(node) -%}{%- endif -%}
    {%- endfor -%}
    {%- if of_table | length == 1 -%}{{ return(of_table[0]) }}{%- endif -%}
    {%- do tidemark.raise_error('usage',
        'there is no ' ~ kinds | join(' or ') ~ " model named '" ~ entity ~ "'" ~ (tidemark._did_you_mean(entity, names) if names else '')
    ) -%}
{%- endmacro -%}

{#- Some operations are of extracts alone. -#}
{%- macro refuse_events(cfg, operation) -%}
    {%- if cfg['extract'] == 'events' -%}
        {%- do tidemark.raise_error('usage',
            operation ~ ' is for extracts: ' ~ cfg['entity'] ~ ' has change events. Its log has every change with its sequence number'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- A line about an operation, on the console. -#}
{%- macro say(entity, text) -%}
    {%- do log(entity ~ ': ' ~ text, info=true) -%}
{%- endmacro -%}

{#- A flag of an operation, which may come as text. -#}
{%- macro is_true(value) -%}
    {{ return(value | string | lower == 'true') }}
{%- endmacro -%}
