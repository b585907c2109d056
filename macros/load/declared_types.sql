{#- Declared types in Spark's own spelling, by lower-case column name. -#}
{%- macro declared_types(cfg) -%}
    {%- set typed = cfg['columns'] | selectattr('data_type') | list -%}
    {%- set types = {} -%}
    {%- if typed -%}
        {%- set terms = [] -%}
        {%- for column in typed -%}
            {%- do terms.append('cast(null as ' ~ column['data_type'] ~ ') as ' ~ tidemark.quote_identifier(column['name'])) -%}
        {%- endfor -%}
        {%- for column in tidemark.describe_query('select ' ~ terms | join(', ')) -%}
            {%- do types.update({column['name'] | lower: column['type']}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(types) }}
{%- endmacro -%}
