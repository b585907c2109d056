{#- An empty Delta table, which needs no more of its readers than its columns do: what a later load asks for
    it gets then. -#}
{%- macro delta__create_table(relation, columns, options) -%}
    {#- Every tenth commit would write a checkpoint, which takes longer than a small load; to read a hundred
        commits takes less. -#}
    {%- set properties = dict({'delta.checkpointInterval': '100'},
        **tidemark.delta__name_properties(columns)) -%}
    {%- do properties.update(options.get('properties', {})) -%}
    {%- do properties.update(tidemark.layout_properties()) -%}
    {{ return([tidemark.create_table_sql('delta', relation, columns,
        dict(options, properties=properties))]) }}
{%- endmacro -%}

{#- A table of a format that keeps versions; properties are put to it as they are. -#}
{%- macro create_table_sql(file_format, relation, columns, options) -%}
{{ 'create or replace table' if options.get('replaces') else 'create table if not exists' }} {{ relation }} (
    {{ tidemark.column_definitions_expr(columns) }}
)
{{ tidemark.table_clauses_sql(file_format, tidemark.folder_of(relation, options), options) }}
{%- endmacro -%}

{#- The folder of a table below its location_root: its name. A table of a location of its own keeps its folder
    where it is renamed or dropped, so that what takes its place begins in one that nobody has had. -#}
{%- macro folder_of(relation, options) -%}
    {%- set is_fresh = options.get('is_fresh') or relation.identifier.endswith('__new') -%}
    {{ return(relation.identifier ~ ('-' ~ local_md5(tidemark.utc_now() ~ relation) if is_fresh else '')) }}
{%- endmacro -%}
