{#- How many rows there are of each operation, as aggregates. -#}
{%- macro figures_of_operations() -%}
    {{ return({
        'rows_inserted': "count_if(_operation = 'I')",
        'rows_updated': "count_if(_operation = 'U')",
        'rows_deleted': "count_if(_operation = 'D')",
        'rows_unchanged': "count_if(_operation = 'N')",
    }) }}
{%- endmacro -%}
