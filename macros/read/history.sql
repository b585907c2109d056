{#- The changes of an entity that are in force, by business date. -#}
{%- macro history(relation) -%}
    {{ return(tidemark._beside(relation, 'history')) }}
{%- endmacro -%}
