{#- Remove files that no version which is kept needs; `at_once` keeps the present version alone. -#}
{%- macro delta__vacuum(relation, at_once) -%}
    {{ return(['vacuum ' ~ relation ~ (' retain 0 hours' if at_once else '')]) }}
{%- endmacro -%}
