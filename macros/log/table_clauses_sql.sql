{#- What stands between the columns of a table and its query: how it is laid out, where (`folder` below
    location_root), and described. -#}
{%- macro table_clauses_sql(file_format, folder, options) -%}
using {{ file_format }}
{%- if options.get('partition_by') %}
partitioned by ({{ tidemark.column_list_expr(options['partition_by']) }})
{%- endif %}
{%- if options.get('cluster_by') %}
cluster by ({{ tidemark.column_list_expr(options['cluster_by']) }})
{%- endif %}
{%- if options.get('location_root') %}
location {{ tidemark.string_literal(options['location_root'] ~ '/' ~ folder) }}
{%- endif %}
{%- if options.get('description') %}
comment {{ tidemark.string_literal(options['description']) }}
{%- endif %}
{%- if options.get('properties') %}
tblproperties ({{ tidemark.properties_expr(options['properties']) }})
{%- endif %}
{%- endmacro -%}
