{#- Run statements in order; the last one's rows, if any. -#}
{%- macro run_statements(statements) -%}
    {%- set result = namespace(rows=none) -%}
    {%- for sql in statements -%}{%- set result.rows = run_query(sql) -%}{%- endfor -%}
    {{ return(result.rows) }}
{%- endmacro -%}

{#- Run statements that make `tables`, which others may be making at the same time: to make a table is not
    atomic where two meet in an empty folder. By plain Spark who comes second tries again until the first is
    done; what else stands in the way the last try tells. -#}
{%- macro run_alone(statements, tables) -%}
    {%- if tidemark.can('run_alone') -%}{{ return(adapter.execute_alone(statements, tables)) }}{%- endif -%}
    {%- set sql = "begin\ndeclare exit handler for sqlexception begin select false as is_done; end;\n"
        ~ statements | join(';\n') ~ ';\nselect true as is_done;\nend' -%}
    {%- for attempt in range(50) -%}
        {%- if tidemark.query_rows(sql)[0]['is_done'] -%}{{ return(none) }}{%- endif -%}
    {%- endfor -%}
    {%- do tidemark.run_statements(statements) -%}
{%- endmacro -%}

{#- The rows of a query as dicts, names in lower case. -#}
{%- macro query_rows(sql) -%}
    {%- set rows = [] -%}
    {%- for row in run_query(sql) -%}{%- do rows.append(row.dict()) -%}{%- endfor -%}
    {{ return(rows) }}
{%- endmacro -%}

{#- What the first column of a query has. -#}
{%- macro first_column(sql) -%}
    {{ return(run_query(sql).columns[0].values() | list) }}
{%- endmacro -%}

{#- The same of one that has JSON in it. -#}
{%- macro json_rows(sql) -%}
    {{ return(fromjson('[' ~ tidemark.first_column(sql) | join(',') ~ ']')) }}
{%- endmacro -%}

{#- How many rows a relation, or a query in brackets, has that meet a condition. -#}
{%- macro row_count(rows, condition=none) -%}
    {{ return(run_query('select count(*) from ' ~ rows
        ~ (' where ' ~ condition if condition else ''))[0][0] | int) }}
{%- endmacro -%}

{#- Whether there is one, which need not be looked for in all files. -#}
{%- macro has_rows(relation, condition=none) -%}
    {{ return(run_query('select 1 from ' ~ relation ~ (' where ' ~ condition if condition else '')
        ~ ' limit 1') | length > 0) }}
{%- endmacro -%}

{%- macro names_in(relation) -%}
    {{ return(tidemark.describe_query('select * from ' ~ relation) | map(attribute='name') | list) }}
{%- endmacro -%}

{#- Names of the columns that a table has as NOT NULL. No statement tells that of every format, but a plan
    does: there it is never NULL. -#}
{%- macro required_names(relation) -%}
    {%- set names = [] -%}
    {#- by few at a time, as Spark shortens what a plan has more of -#}
    {%- for some in tidemark.names_in(relation) | batch(20) -%}
        {%- set terms = [] -%}
        {%- for name in some -%}{%- do terms.append('isnull(' ~ tidemark.quote_identifier(name)
            ~ ') as tidemark_' ~ loop.index0) -%}{%- endfor -%}
        {%- set plan = run_query('explain select ' ~ terms | join(', ') ~ ' from ' ~ relation)[0][0] -%}
        {%- for place in modules.re.findall('\\bfalse AS tidemark_([0-9]+)#', plan) -%}
            {%- do names.append(some[place | int]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- Names and types of a query's columns, without running it. -#}
{%- macro describe_query(sql) -%}
    {%- if tidemark.can('ask_catalog') -%}{{ return(adapter.query_columns(sql)) }}{%- endif -%}
    {%- set columns = [] -%}
    {%- for row in run_query('describe query ' ~ sql) -%}
        {%- if tidemark.is_shortened(row[1]) -%}
            {%- do tidemark.raise_error('configuration',
                'column `' ~ row[0]
                    ~ '` has a struct with more fields than Spark prints. Raise '
                    ~ 'spark.sql.debug.maxToStringFields '
                ~ '(25, if it is not set) in the server_side_parameters of the profile, or on the server'
            ) -%}
        {%- endif -%}
        {#- fields are not quoted here, so that one may be called what ends its type -#}
        {%- if not tidemark.is_type_text(tidemark.quoted_type(row[1])) -%}
            {%- do tidemark.raise_error('data',
                'column `' ~ row[0]
                    ~ '` has a field whose name cannot be told from its type. Rename the field in the '
                    ~ 'SELECT of the model'
            ) -%}
        {%- endif -%}
        {%- do columns.append({'name': row[0], 'type': row[1]}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- Make way for a table that is to be made: a killed run may have left its folder behind. -#}
{%- macro clear_leftovers(relations) -%}
    {%- if tidemark.can('remove_files') -%}
        {%- for relation in relations -%}{%- do adapter.clear_leftovers(relation) -%}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{#- Whether a relation exists, asked of the metastore, as tables made in this run may not be in dbt's cache. A
    temporary view is not meant. -#}
{%- macro relation_exists(relation) -%}
    {{ return(tidemark.table_names(relation.include(identifier=false), relation.identifier) | length > 0) }}
{%- endmacro -%}

{#- Whether a relation is a view: Spark drops it by another statement than a table. -#}
{%- macro is_view(relation) -%}
    {{ return(run_query('show views in ' ~ relation.include(identifier=false) ~ ' like '
        ~ tidemark.string_literal(relation.identifier)) | length > 0) }}
{%- endmacro -%}

{#- The names of tables and views of a schema; `pattern` as in `show tables … like`. -#}
{%- macro table_names(schema, pattern) -%}
    {%- if tidemark.can('ask_catalog') -%}
        {{ return(adapter.table_names(schema.schema, pattern)) }}
    {%- endif -%}
    {%- set names = [] -%}
    {%- for row in run_query('show tables in ' ~ schema ~ ' like ' ~ tidemark.string_literal(pattern))
        if not row[2] -%}
        {%- do names.append(row[1]) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- The version of a table. -#}
{%- macro table_version(file_format, relation) -%}
    {%- if tidemark.can('ask_catalog') -%}{{ return(adapter.table_version(relation)) }}{%- endif -%}
    {%- if file_format == 'iceberg' -%}
        {#- A table without rows has no snapshot yet. -#}
        {{ return((tidemark.table_property(relation, 'current-snapshot-id') or '').replace('none',
            '0') | int) }}
    {%- endif -%}
    {{ return(run_query('describe history ' ~ relation ~ ' limit 1')[0][0]) }}
{%- endmacro -%}

{#- A property of a table, none if it has no such property. -#}
{%- macro table_property(relation, name) -%}
    {%- for row in run_query('show tblproperties ' ~ relation) if row[0] == name -%}
        {{ return(row[1]) }}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- Whether a feed's table was made by a run that did not come to its end, or that had no rows to read
    (`--empty`): it has the number of the last commit that its run was to make, and that comes after those
    which were made. Tables of earlier versions have none. -#}
{%- macro is_unfinished(relation, last_commit_id) -%}
    {{ return((tidemark.table_property(relation, 'tidemark.feed_commit')
        or 0) | int > last_commit_id | int) }}
{%- endmacro -%}

{#- How many files a table has. -#}
{%- macro file_count(file_format, relation) -%}
    {%- if file_format == 'iceberg' -%}{{ return(tidemark.row_count('spark_catalog.' ~ relation
        ~ '.files')) }}{%- endif -%}
    {%- if tidemark.can('ask_catalog') -%}{{ return(adapter.file_count(relation)) }}{%- endif -%}
    {{ return(tidemark.query_rows('describe detail ' ~ relation)[0]['numFiles'] | int) }}
{%- endmacro -%}
