{#- Bring the files of an entity's tables to a good size: the log one partition at a time, those with most
    small files first, current by what a load looks its rows up by. What it has not come to is left for the
    next call while a load is at work; if a load writes the same files meanwhile, Delta refuses one of the
    two, which is then run again. -#}
{%- macro compact(entity, target_file_size='128 MB', tables=none, max_partitions=none, purge=true,
    dry_run=false) -%}
    {{ return(tidemark.operation('compact.compact', entity, target_file_size, tables, max_partitions, purge,
        dry_run)) }}
{%- endmacro -%}
