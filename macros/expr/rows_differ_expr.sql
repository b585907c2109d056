{#- Whether two rows differ in any of some columns, NULL being a value like others. Maps are compared by their
    canonical text. -#}
{%- macro rows_differ_expr(columns, left, right) -%}
    {%- set terms = [] -%}
    {%- for column in columns -%}
        {%- set name = tidemark.quote_identifier(column['name']) -%}
        {%- set before, after = left ~ '.' ~ name, right ~ '.' ~ name -%}
        {%- if 'map<' in column['type'] -%}
            {%- set before = tidemark.canonical_text_expr(before, column['type']) -%}
            {%- set after = tidemark.canonical_text_expr(after, column['type']) -%}
        {%- endif -%}
        {%- do terms.append(before ~ ' <=> ' ~ after) -%}
    {%- endfor -%}
    {{ return('not (\n    ' ~ terms | join('\n    and ') ~ '\n)' if terms else 'false') }}
{%- endmacro -%}
