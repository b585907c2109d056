{#- The macro that does `name` for a table format: what differs by format is only what stands in this folder,
    as `<format>__<name>`. Each returns a list of statements, run in order. Iceberg does as Delta what has no
    macro of its own. -#}
{%- macro for_format(file_format, name) -%}
    {%- set found = tidemark[file_format ~ '__' ~ name]
        or (file_format == 'iceberg' and tidemark['delta__' ~ name]) -%}
    {%- if not found -%}{%- do tidemark.raise_error('configuration',
        'no ' ~ name ~ ' for file_format ' ~ file_format ~ '. Set file_format to delta or iceberg') -%}
        {%- endif -%}
    {{ return(found) }}
{%- endmacro -%}
