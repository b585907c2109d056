{#- Refuse what a DDL event calls a type and Spark does not: SQL is made with it. -#}
{%- macro check_told_types(entity, columns) -%}
    {%- for column in columns or [] if column['type'] and not tidemark.is_type_text(column['type']) -%}
        {%- do tidemark.raise_error('data',
            entity ~ ': a DDL event says that column `' ~ column['name'] ~ '` is of type `' ~ column['type'][:60]
            ~ '`, which is no type of Spark; nothing was written. Mend `_schema` of the event, or leave its `type` out'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}
