{#- The column part of a create table statement. -#}
{%- macro column_definitions_expr(columns) -%}
    {%- set definitions = [] -%}
    {%- for column in columns -%}
        {%- do definitions.append(
            tidemark.quote_identifier(column['name']) ~ ' ' ~ column['type']
            ~ (' not null' if column.get('not_null') else '')
            ~ (' comment ' ~ tidemark.string_literal(column['description']) if column.get('description')
                else '')
        ) -%}
    {%- endfor -%}
    {{ return(definitions | join(',\n    ')) }}
{%- endmacro -%}

{#- Table properties as 'name' = 'value' pairs. -#}
{%- macro properties_expr(properties) -%}
    {%- set pairs = [] -%}
    {%- for name, value in properties.items() -%}
        {%- do pairs.append(tidemark.string_literal(name) ~ ' = '
            ~ tidemark.string_literal(value | string)) -%}
    {%- endfor -%}
    {{ return(pairs | join(', ')) }}
{%- endmacro -%}
