{#- Quoted names joined by commas, each behind `alias.` if one is given. -#}
{%- macro column_list_expr(names, alias=none) -%}
    {%- set quoted = [] -%}
    {%- for name in names -%}{%- do quoted.append((alias ~ '.' if alias else '')
        ~ tidemark.quote_identifier(name)) -%}{%- endfor -%}
    {{ return(quoted | join(',\n    ')) }}
{%- endmacro -%}
