{#- Whether a name is that of one of the tables, in any case; one of them may leave out the database. -#}
{%- macro is_one_of_tables(name, tables) -%}
    {%- if not tables -%}{{ return(true) }}{%- endif -%}
    {%- for table in tables -%}
        {%- if name | lower == table | lower or ('.' ~ name | lower).endswith('.' ~ table | lower) -%}{{ return(true) }}{%- endif -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- What has changed where the setting `table` names none of the tables that a log was made of: files are read once, so that another one
    would have none of the events that have landed. DDL events give a table further names. -#}
{%- macro table_drift(cfg, taken) -%}
    {%- if not cfg['table'] or tidemark.is_one_of_tables(cfg['table'], taken) -%}{{ return([]) }}{%- endif -%}
    {%- for name in taken if tidemark.is_one_of_tables(name, [cfg['table']]) -%}{{ return([]) }}{%- endfor -%}
    {{ return(['table was ' ~ taken | join(', ') ~ ' and is now ' ~ cfg['table']]) }}
{%- endmacro -%}
