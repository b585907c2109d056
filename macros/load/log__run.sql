{#- What the run does of an entity with a log: what it was asked for. -#}
{%- macro log__run(opened, state) -%}
    {{ return(opened['run']) }}
{%- endmacro -%}
