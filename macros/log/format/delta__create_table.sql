{#- An empty Delta table whose columns can later be added, renamed and dropped, under any name. -#}
{%- macro delta__create_table(relation, columns, options) -%}
{{ return([tidemark.create_table_sql('delta', relation, columns, dict(
    options, properties=dict({'delta.columnMapping.mode': 'name'}, **dict(options.get('properties', {}), **tidemark.layout_properties()))
))]) }}
{%- endmacro -%}

{#- A table of a format that keeps versions; properties are put to it as they are. -#}
{%- macro create_table_sql(file_format, relation, columns, options) -%}
create table if not exists {{ relation }} (
    {{ tidemark.column_definitions_expr(columns) }}
)
using {{ file_format }}
{%- if options.get('partition_by') %}
partitioned by ({{ tidemark.column_list_expr(options['partition_by']) }})
{%- endif %}
{%- if options.get('cluster_by') %}
cluster by ({{ tidemark.column_list_expr(options['cluster_by']) }})
{%- endif %}
{%- if options.get('location_root') %}
location {{ tidemark.string_literal(options['location_root'] ~ '/' ~ relation.identifier) }}
{%- endif %}
{%- if options.get('description') %}
comment {{ tidemark.string_literal(options['description']) }}
{%- endif %}
tblproperties ({{ tidemark.properties_expr(options['properties']) }})
{%- endmacro -%}
