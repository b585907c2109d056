{#- Declared types in Spark's own spelling, by lower-case column name. -#}
{%- macro declared_types(cfg) -%}
    {%- set typed = cfg['columns'] | selectattr('data_type') | list -%}
    {%- if not typed -%}{{ return({}) }}{%- endif -%}
    {%- set terms = [] -%}
    {%- for column in typed -%}
        {%- do terms.append('cast(null as ' ~ column['data_type'] ~ ') as ' ~ tidemark.quote_identifier(column['name'])) -%}
    {%- endfor -%}
    {%- set types = tidemark.describe_query('select ' ~ terms | join(', ')) | map(attribute='type') -%}
    {{ return(dict(zip(typed | map(attribute='name') | map('lower'), types))) }}
{%- endmacro -%}
