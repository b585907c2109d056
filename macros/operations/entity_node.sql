{#- The node of a model by its name, else by that of its table or by schema.table, of these materializations;
    of several of a name, as versions and packages may have them, that of the project. An error that names
    what there is if none is meant alone. -#}
{%- macro entity_node(entity, kinds=['cdc']) -%}
    {%- set names, of_name, of_project, of_table, of_relation = [], [], [], [], [] -%}
    {%- for node in tidemark.models_of(kinds) -%}
        {%- do names.append(node['name']) -%}
        {%- if node['name'] == entity -%}{%- do of_name.append(node) -%}{%- endif -%}
        {%- if node['name'] == entity and node['package_name'] == project_name -%}
            {%- do of_project.append(node) -%}
        {%- endif -%}
        {%- if node['alias'] == entity -%}{%- do of_table.append(node) -%}{%- endif -%}
        {%- if node['schema'] ~ '.' ~ node['alias'] == entity -%}
            {%- do of_relation.append(node) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for found in [of_name, of_project, of_table if not of_name else [], of_relation]
        if found | length == 1 -%}{{ return(found[0]) }}{%- endfor -%}
    {%- if of_name or of_table -%}
        {%- set tables = [] -%}
        {%- for node in of_name or of_table -%}
            {%- do tables.append(node['schema'] ~ '.' ~ node['alias']) -%}
        {%- endfor -%}
        {%- do tidemark.raise_error('usage',
            'there are several models named ' ~ entity ~ '. Name one of them by its table: '
            ~ tables | join(' or ')) -%}
    {%- endif -%}
    {%- do tidemark.raise_error('usage',
        'there is no ' ~ kinds | join(' or ') ~ " model named '" ~ entity ~ "'"
            ~ (tidemark._did_you_mean(entity, names) if names else '')
    ) -%}
{%- endmacro -%}

{#- Some operations are of extracts alone. -#}
{%- macro refuse_events(cfg, operation) -%}
    {%- if cfg['extract'] == 'events' -%}
        {%- do tidemark.raise_error('usage',
            operation ~ ' is for extracts: ' ~ cfg['entity']
                ~ ' has change events. Read the log instead, which has every change with its sequence number'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- A flag of an operation, which may come as text. -#}
{%- macro is_true(value) -%}
    {{ return(value | string | lower == 'true') }}
{%- endmacro -%}
