{#- The whole table of intervals in one statement; readers see the old table until it is done. -#}
{%- macro build_intervals_sql(relation, options, body) -%}
create or replace table {{ relation }}
using {{ options['file_format'] }}
{%- if options['partition_by'] %}
partitioned by ({{ tidemark.column_list_expr(options['partition_by']) }})
{%- endif %}
{%- if options['cluster_by'] %}
cluster by ({{ tidemark.column_list_expr(options['cluster_by']) }})
{%- endif %}
{%- if options['location_root'] %}
location {{ tidemark.string_literal(options['location_root'] ~ '/' ~ relation.identifier) }}
{%- endif %}
{%- if options['description'] %}
comment {{ tidemark.string_literal(options['description']) }}
{%- endif %}
{%- if options['properties'] %}
tblproperties ({{ tidemark.properties_expr(options['properties']) }})
{%- endif %}
as
{{ body }}
{%- endmacro -%}
