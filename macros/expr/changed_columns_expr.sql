{#- The names of the compared columns whose values differ between two rows of one key, as array<string>. -#}
{%- macro changed_columns_expr(columns, before, after) -%}
    {%- set terms = [] -%}
    {%- for column in columns -%}
        {%- set name = tidemark.quote_identifier(column['name']) -%}
        {%- set left = tidemark.compared_value_expr(column, before ~ '.' ~ name) -%}
        {%- set right = tidemark.compared_value_expr(column, after ~ '.' ~ name) -%}
        {%- set type = column.get('compare_type') or column['type'] -%}
        {%- if 'map<' in type -%}
            {%- set left = tidemark.canonical_text_expr(left, type) -%}
            {%- set right = tidemark.canonical_text_expr(right, type) -%}
        {%- endif -%}
        {%- do terms.append('if(' ~ left ~ ' <=> ' ~ right ~ ', null, '
            ~ tidemark.string_literal(column['name']) ~ ')') -%}
    {%- endfor -%}
    {{ return('array_compact(array(' ~ terms | join(',\n        ') ~ '))' if terms
        else 'cast(array() as array<string>)') }}
{%- endmacro -%}
