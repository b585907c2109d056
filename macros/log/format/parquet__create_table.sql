{#- An empty Parquet table. Side relations are partitioned by commit, so that a commit's rows can be taken away; current lies in a
    versioned folder and is swapped by pointing the table to another one. -#}
{%- macro parquet__create_table(relation, columns, options) -%}
{%- set definitions = [] -%}
{%- for column in columns -%}
    {%- do definitions.append({'name': column['name'], 'type': column['type'], 'description': column.get('description')}) -%}
{%- endfor -%}
{%- if options.get('side') -%}{%- do definitions.append({'name': 'tidemark_commit', 'type': 'bigint'}) -%}{%- endif -%}
{%- set statement -%}
create table if not exists {{ relation }} (
    {{ tidemark.column_definitions_expr(definitions) }}
)
using parquet
{%- if options.get('side') %}
partitioned by (tidemark_commit)
{%- endif %}
{%- if options.get('root') %}
location {{ tidemark.string_literal(tidemark.parquet_version_path(options['root'], relation, 'empty')) }}
{%- endif %}
{%- if options.get('description') %}
comment {{ tidemark.string_literal(options['description']) }}
{%- endif %}
tblproperties ({{ tidemark.properties_expr(dict(options.get('properties') or {}, **tidemark.layout_properties())) }})
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}

{#- The folder of one version of a Parquet table. -#}
{%- macro parquet_version_path(root, relation, version) -%}
    {{ return(root ~ '/' ~ relation.identifier ~ '__versions/' ~ version) }}
{%- endmacro -%}
