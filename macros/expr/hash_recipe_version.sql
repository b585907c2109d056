{#- The version of the hash recipe (docs block `hash_recipe`), recorded with every table that stores hashes.
    -#}
{%- macro hash_recipe_version() -%}
    {{ return(1) }}
{%- endmacro -%}
