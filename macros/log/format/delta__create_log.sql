{#- The log, partitioned by business date. -#}
{%- macro delta__create_log(cfg, relations, columns) -%}
    {%- set properties = tidemark.write_mode_properties(cfg) -%}
    {%- do properties.update({'tidemark.hash_recipe': tidemark.hash_recipe_version(),
        'tidemark.hash': cfg['hash']}) -%}
    {#- Ranges of commits are found by their statistics; those of other columns let nothing be left out and
        take a third of the time. -#}
    {#- So are the positions of events, which come again at the same ones. -#}
    {%- set positions = ',_offset' if columns | map(attribute='name') | select('equalto', '_offset') | list
        else '' -%}
    {%- do properties.update({'delta.dataSkippingStatsColumns': '_key_hash,_commit_id,_superseded_by'
        ~ positions}) -%}
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

{#- Deletion vectors mark rows where copy_on_write, which is Delta's default, writes their files again. -#}
{%- macro write_mode_properties(cfg) -%}
    {{ return({'delta.enableDeletionVectors': 'true'} if cfg.get('write_mode') == 'merge_on_read' else {}) }}
{%- endmacro -%}
