{#- What is compared of a column's value: the value of `compare_as`, an expression of the column, or the value
    itself. The expression sees the column by its name alone, as the argument of a function. -#}
{%- macro compared_value_expr(column, value) -%}
    {%- if not column.get('compare_as') -%}{{ return(value) }}{%- endif -%}
    {#- which tells the type of the value where only the text is seen; that of no column is told -#}
    {%- set value = 'cast(' ~ value ~ ' as double)' if column.get('type') == 'double' else value -%}
    {{ return('transform(array(' ~ value ~ '), ' ~ tidemark.quote_identifier(column['name']) ~ ' -> ('
        ~ column['compare_as'] ~ '))[0]') }}
{%- endmacro -%}
