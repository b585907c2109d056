{#-
    Print what the updates of a business date changed, for a few keys of an entity, with old and new values:
    dbt run-operation show_changes --args '{entity: airports, business_date: 2026-03-04}'
-#}
{%- macro show_changes(entity, business_date, limit=5, format='text') -%}
    {%- set node = tidemark.entity_node(entity) -%}
    {%- set cfg = tidemark.entity_config(node) -%}
    {%- do tidemark.refuse_events(cfg, 'show_changes') -%}
    {%- set current = api.Relation.create(database=node['database'], schema=node['schema'], identifier=node['alias']) -%}
    {%- set log_relation = tidemark.side_relation(current, 'log') -%}
    {%- set columns = [] -%}
    {%- for column in tidemark.describe_query('select * from ' ~ log_relation) if column['name'] not in tidemark.reserved_columns() -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {%- set shown = columns | map(attribute='name') | map('lower') | list -%}
    {%- set keys = [] -%}
    {%- for key in cfg['keys'] if key | lower in shown -%}
        {%- do keys.append(key) -%}
    {%- endfor -%}
    {%- set rows = tidemark.query_rows(tidemark.changed_values_sql(
        log_relation, keys, columns, tidemark._business_date(business_date), limit | int
    )) -%}
    {%- if format == 'json' -%}
        {%- do log('tidemark changes ' ~ tojson({'entity': entity, 'business_date': business_date | string, 'rows': rows}), info=true) -%}
    {%- else -%}
        {%- do log(entity ~ ' ' ~ business_date ~ ': ' ~ (rows | length or 'no') ~ ' changed values of the first ' ~ limit ~ ' updated keys', info=true) -%}
        {%- for row in rows -%}
            {%- do log('  ' ~ row['key'] ~ '  ' ~ row['column_name'] ~ ': ' ~ row['old_value'] ~ ' -> ' ~ row['new_value'], info=true) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}


{#- The node of a cdc model by its name; an error that names the nearest one if there is none. -#}
{%- macro entity_node(entity) -%}
    {%- set names = [] -%}
    {%- for node in graph.nodes.values() if node['resource_type'] == 'model' and node['config']['materialized'] == 'cdc' -%}
        {%- if node['name'] == entity -%}{{ return(node) }}{%- endif -%}
        {%- do names.append(node['name']) -%}
    {%- endfor -%}
    {%- do exceptions.raise_compiler_error(
        "there is no cdc model named '" ~ entity ~ "'" ~ (tidemark._did_you_mean(entity, names) if names else '')
    ) -%}
{%- endmacro -%}


{#- Some operations are of extracts alone. -#}
{%- macro refuse_events(cfg, operation) -%}
    {%- if cfg['extract'] == 'events' -%}
        {%- do exceptions.raise_compiler_error(
            operation ~ ' is for extracts: ' ~ cfg['entity'] ~ ' has change events. Its log has every change with its sequence number'
        ) -%}
    {%- endif -%}
{%- endmacro -%}
