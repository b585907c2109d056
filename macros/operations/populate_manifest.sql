{#- Claim the events that are stored already, day by day: a call that died goes on after the last day that it
    finished, and what is claimed is not claimed twice. `from` is another table with the canonical columns,
    such as a shredder filled. -#}
{%- macro populate_manifest(entity, since=none, from=none) -%}
    {{ return(tidemark.operation('populate_manifest.populate_manifest', entity, since, from)) }}
{%- endmacro -%}
