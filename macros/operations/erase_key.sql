{#- Take the rows of one key out of all tables of an entity, and out of those derived from it. The commit has
    hashes of the key and counts, never its values, nor has any commit of the tables; a call that died is
    finished by the next one with the same key. Files of former versions stay until they are vacuumed. -#}
{%- macro erase_key(entity, key, dry_run=false, vacuum=false, confirm=false) -%}
    {{ return(tidemark.operation('erase_key.erase_key', entity, key, dry_run, vacuum, confirm)) }}
{%- endmacro -%}
