{#- The rows that an entity put to quarantine, with reason and raw payload. -#}
{%- macro rejects(relation) -%}
    {{ return(tidemark._beside(relation, 'rejects')) }}
{%- endmacro -%}
