{#- Say how entities stand, a line of JSON each, for `tidemark apply`, which compares it with what a plan was
    made from. As in a plan nothing is mended, and what a dead run left is an error. -#}
{%- macro planned_state(entities,
    full_refresh=false) -%}{{ return(tidemark.operation('planning.planned_state', entities,
        full_refresh)) }}{%- endmacro -%}
