{#- Drop all tables of an entity, and forget its commits. What full refreshes and rehashes left goes too:
    without their commits `clean` would keep it for ever. -#}
{%- macro drop_entity(entity, dry_run=false) -%}
    {{ return(tidemark.operation('rebuild.drop_entity', entity, dry_run)) }}
{%- endmacro -%}
