{#- A warning on the console. None of dbt's, which --warn-error makes an error: what it tells of was written
    already. -#}
{%- macro warn(entity, text) -%}
    {%- do log('[WARNING]: ' ~ entity ~ ': ' ~ text, info=true) -%}
{%- endmacro -%}
