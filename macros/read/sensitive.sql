{#- The sensitive columns of an entity, one row per log row that has them. See with_sensitive(). -#}
{%- macro sensitive(relation) -%}
    {{ return(tidemark._beside(relation, 'sensitive')) }}
{%- endmacro -%}
