{#- What a column is to the comparison of rows. -#}
{%- macro column_role(column) -%}
    {%- if column['key'] -%}{{ return('key') }}{%- endif -%}
    {{ return('ignored' if column['ignored'] else 'compared') }}
{%- endmacro -%}
