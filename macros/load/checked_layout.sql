{#- The layout of a table, none where there is no table; one that a newer release made is an error before anything is done to it. -#}
{%- macro checked_layout(relation) -%}
    {%- set found = tidemark.found_layout(relation) -%}
    {%- if found is not none and found > tidemark.layout_version() -%}
        {%- do tidemark.raise_error('data',
            relation ~ ' was written by a newer release of Tidemark: its layout is ' ~ found ~ ', and this release knows those up to '
            ~ tidemark.layout_version() ~ '; nothing was written. Take a newer release, of the distribution dbt-tidemark and of the dbt package'
        ) -%}
    {%- endif -%}
    {{ return(found) }}
{%- endmacro -%}

{#- What a table says of its layout; nothing does a view. -#}
{%- macro found_layout(relation) -%}
    {%- if tidemark.can('ask_catalog') -%}{{ return(adapter.table_layout(relation)) }}{%- endif -%}
    {%- if not tidemark.relation_exists(relation) -%}{{ return(none) }}{%- endif -%}
    {%- set told = run_query('show tblproperties ' ~ relation ~ " ('tidemark.layout')")[0][1] -%}
    {%- if modules.re.fullmatch('[0-9]+', told) -%}{{ return(told | int) }}{%- endif -%}
    {{ return(none if tidemark.is_view(relation) else 0) }}
{%- endmacro -%}

{#- Bring the table of an entity from which all others can be made to the layout of this release: its log, or the table of events. Those
    beside it have the layout that it has. Returns whether it was altered. -#}
{%- macro migrate_entity(opened, found) -%}
    {%- if found is none or opened['run'].get('dry_run') -%}{{ return(false) }}{%- endif -%}
    {%- set statements = tidemark.migrate_layout_sql(tidemark.laid_out(opened), found) -%}
    {%- do tidemark.run_statements(statements) -%}
    {{ return(statements | length > 0) }}
{%- endmacro -%}

{#- The table that tells the layout of an entity. -#}
{%- macro laid_out(opened) -%}
    {{ return(opened['relations'].get('log_table') or opened['relations']['current']) }}
{%- endmacro -%}
