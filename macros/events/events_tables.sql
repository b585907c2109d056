{#- Whether a name is that of one of the tables, in any case; one of them may leave out the database. -#}
{%- macro is_one_of_tables(name, tables) -%}
    {{ return(adapter.call_function('tidemark.rules.statements.is_one_of_tables', name, tables)) }}
{%- endmacro -%}

{#- Whether a name is that of another one of the tables, without its database. -#}
{%- macro is_end_of_another(name, tables) -%}
    {%- for table in tables if (table | lower).endswith('.' ~ name | lower) -%}{{ return(true) }}{%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- What has changed where the setting `table` names none of the tables that a log was made of: files are read once, so that another one
    would have none of the events that have landed. DDL events give a table further names. -#}
{%- macro table_drift(cfg, taken) -%}
    {%- if not cfg['table'] or tidemark.is_one_of_tables(cfg['table'], taken) -%}{{ return([]) }}{%- endif -%}
    {%- for name in taken if tidemark.is_one_of_tables(name, [cfg['table']]) -%}{{ return([]) }}{%- endfor -%}
    {{ return(['table was ' ~ taken | join(', ') ~ ' and is now ' ~ cfg['table']]) }}
{%- endmacro -%}

{#- The tables that events are of, as they are written: those of earlier batches, and of this one. -#}
{%- macro named_tables(batch, figures) -%}
    {%- set named = batch['named'] | list -%}
    {%- for row in figures if row['_table_name'] -%}
        {%- set name = row['_table_name'] -%}
        {%- set same = [] -%}
        {%- for other in named if tidemark.is_one_of_tables(name, [other]) or tidemark.is_one_of_tables(other, [name]) -%}
            {%- do same.append(other) -%}
        {%- endfor -%}
        {%- if not same -%}{%- do named.append(name) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(named) }}
{%- endmacro -%}

{#- Refuses events of more tables than the setting and DDL events name; without either, than the one that the first events are of. -#}
{%- macro check_one_table(cfg, batch, figures, loaded) -%}
    {%- set told = figures | map(attribute='_table_name') | select | unique | list -%}
    {%- set found = [] -%}
    {#- some may tell the database, some not -#}
    {%- for name in (told if batch['tables'] else batch['named']) if not tidemark.is_end_of_another(name, told) -%}{%- do found.append(name) -%}{%- endfor -%}
    {%- if found | length > 1 and found | length > batch['tables'] | length -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': the events are of several tables (' ~ found | sort | join(', ') ~ '): say with meta.tidemark.table which one this is'
            ~ ('. Those that were loaded are of ' ~ loaded | join(', ') if loaded else '')
        ) -%}
    {%- endif -%}
{%- endmacro -%}
