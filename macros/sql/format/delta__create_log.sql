{#- The log, partitioned by business date. -#}
{%- macro delta__create_log(cfg, relations, columns) -%}
    {%- set properties = tidemark.write_mode_properties(cfg) -%}
    {%- do properties.update({'tidemark.hash_recipe': tidemark.hash_recipe_version(), 'tidemark.hash': cfg['hash']}) -%}
    {{ return(tidemark.delta__create_table(relations['log'], columns, {
        'partition_by': ['_business_date'],
        'location_root': cfg['location_root'],
        'properties': properties,
    })) }}
{%- endmacro -%}


{#- Nothing beside the table depends on the log's columns. -#}
{%- macro delta__evolve_log(relations, columns) -%}
    {{ return([]) }}
{%- endmacro -%}
