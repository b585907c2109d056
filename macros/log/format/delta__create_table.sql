{#- An empty Delta table whose columns can later be added, renamed and dropped, under any name. -#}
{%- macro delta__create_table(relation, columns, options) -%}
{%- set properties = {'delta.columnMapping.mode': 'name'} -%}
{%- do properties.update(options.get('properties', {})) -%}
{%- do properties.update(tidemark.layout_properties()) -%}
{%- set statement -%}
create table if not exists {{ relation }} (
    {{ tidemark.column_definitions_expr(columns) }}
)
using delta
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
tblproperties ({{ tidemark.properties_expr(properties) }})
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}
