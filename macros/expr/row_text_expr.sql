{#- The text that a row's hash is made of: `<bytes of name>:<name><bytes of value>:<value>` of each non-NULL
    column, in the order given (docs block `hash_recipe`). No two different rows share a text, and a new
    column that is NULL changes none. A column that was renamed keeps the name that it is hashed by
    (`hash_name`). -#}
{%- macro row_text_expr(columns, relation_alias=none) -%}
    {%- set terms = [] -%}
    {%- for column in columns -%}
        {%- set name = tidemark.quote_identifier(column['name']) -%}
        {%- set value = relation_alias ~ '.' ~ name if relation_alias else name -%}
        {%- set text = tidemark._canonical_text(tidemark.compared_value_expr(column, value),
            column.get('compare_type') or column['type'], 1, name) -%}
        {%- set hash_name = column.get('hash_name') or column['name'] -%}
        {%- set label = tidemark._name_literal(hash_name) -%}
        {%- if column.get('sensitive') -%}
            {%- set pepper = tidemark.pepper_expr() -%}
            {%- set label = tidemark.string_literal(hash_name.encode('utf-8') | length ~ ':' ~ hash_name
                ~ '64:') -%}
            {%- do terms.append(
                'concat(' ~ label ~ ', sha2(concat(octet_length(' ~ pepper ~ "), ':', " ~ pepper ~ ', ' ~ text
                    ~ '), 256))'
            ) -%}
        {%- else -%}
            {%- do terms.append('concat(' ~ label ~ ', octet_length(' ~ text ~ "), ':', " ~ text ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return("concat_ws('',\n    " ~ terms | join(',\n    ') ~ "\n)" if terms else "''") }}
{%- endmacro -%}
