{#- An empty Iceberg table. Each former version has a description in a file; the last hundred of them stay.
    -#}
{%- macro iceberg__create_table(relation, columns, options) -%}
    {%- set properties = {'write.metadata.delete-after-commit.enabled': 'true',
        'write.metadata.previous-versions-max': '100'} -%}
    {%- do properties.update(options.get('properties', {})) -%}
    {%- do properties.update(tidemark.layout_properties()) -%}
    {{ return([tidemark.create_table_sql('iceberg', relation, columns,
        dict(options, properties=properties))]) }}
{%- endmacro -%}

{#- The log, partitioned by business date. Ranges of commits are found by their statistics, and so is another
    run's commit. -#}
{%- macro iceberg__create_log(cfg, relations, columns) -%}
    {%- set properties = {'tidemark.hash_recipe': tidemark.hash_recipe_version(),
        'tidemark.hash': cfg['hash'], 'write.metadata.metrics.default': 'none'} -%}
    {%- for name in ['_key_hash', '_commit_id', '_superseded_by'] -%}
        {%- do properties.update({'write.metadata.metrics.column.' ~ name: 'full'}) -%}
    {%- endfor -%}
    {{ return(tidemark.iceberg__create_table(relations['log'], columns, {
        'partition_by': ['_business_date'], 'location_root': cfg['location_root'], 'properties': properties,
    })) }}
{%- endmacro -%}

{#- Columns of an Iceberg table go by their numbers from the first. -#}
{%- macro iceberg__map_columns(relation) -%}
    {{ return([]) }}
{%- endmacro -%}

{#- Let columns (quoted names to types) of an Iceberg table take wider values. -#}
{%- macro iceberg__widen_columns(relation, types) -%}
    {%- set statements = [] -%}
    {%- for name, type in types.items() -%}
        {%- do statements.append('alter table ' ~ relation ~ ' alter column ' ~ name ~ ' type ' ~ type) -%}
    {%- endfor -%}
    {{ return(statements) }}
{%- endmacro -%}
