{#- A row as JSON text, NULLs kept, with `***` for the values of sensitive columns. -#}
{%- macro masked_json_expr(columns, alias, name_attribute='name') -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- set value = alias ~ '.' ~ tidemark.quote_identifier(column[name_attribute]) -%}
        {%- if column['sensitive'] -%}{%- set value = "if(" ~ value
            ~ " is null, cast(null as string), '***')" -%}{%- endif -%}
        {%- do fields.append(tidemark.string_literal(column['name']) ~ ', ' ~ value) -%}
    {%- endfor -%}
    {{ return("to_json(named_struct(" ~ fields | join(', ') ~ "), map('ignoreNullFields', 'false'))") }}
{%- endmacro -%}
