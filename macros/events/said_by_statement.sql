{#- A canonical DDL event as {operation, table, columns, ddl}, or none if it is of another table. -#}
{%- macro canonical_statement(row, batch, cfg) -%}
    {%- set operation, ours = row['_operation'], tidemark.names_of_table(batch) -%}
    {%- set database = row['_database'] or tidemark._untold_database(cfg['table'], ours, row['_table']) -%}
    {%- set name = ([database, row['_table']] | select | join('.')) -%}
    {%- set previous = ([database, row['_prev_table']] | select | join('.')) if row['_prev_table'] else none -%}
    {%- if operation in ['CREATE_DATABASE', 'DROP_DATABASE'] -%}
        {%- if not tidemark.is_database_of(row['_database'], ours) -%}{{ return(none) }}{%- endif -%}
    {%- elif operation != 'RENAME_TABLE' or not previous or not tidemark.is_one_of_tables(previous, ours) -%}
        {%- if not tidemark.is_one_of_tables(name, ours) -%}{{ return(none) }}{%- endif -%}
        {#- another table has taken the name -#}
        {%- set operation = 'ALTER_TABLE' if operation == 'RENAME_TABLE' else operation -%}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for column in tidemark._told_columns(row['_schema'], cfg['entity']) -%}
        {%- do columns.append({
            'name': column['name'], 'type': tidemark.type_in_lower_case(column['type']) if column.get('type') else none, 'encoding': 'auto',
            'default': tidemark._json_text(column['default']) if column.get('default') is not none else none,
            'previous_name': column.get('previous_name'),
        }) -%}
    {%- endfor -%}
    {{ return({'operation': operation, 'table': name, 'previous': previous, 'columns': columns or none}) }}
{%- endmacro -%}

{#- The database of a statement that tells none: that of the entity's table, unless the setting names it, as it must be told then. -#}
{%- macro _untold_database(setting, names, table) -%}
    {%- set parts = (names | last | default('')).split('.') -%}
    {%- set is_named = setting and setting.split('.') | length >= parts | length -%}
    {{ return('' if is_named else parts[:-((table or '').split('.') | length)] | join('.')) }}
{%- endmacro -%}

{#- The columns that `_schema` of a canonical event lists. -#}
{%- macro _told_columns(text, entity) -%}
    {%- set columns = fromjson(text or '[]') -%}
    {%- set found = namespace(is_list=columns is sequence and columns is not string and columns is not mapping) -%}
    {%- for column in (columns if found.is_list else []) -%}
        {%- set is_column = column is mapping and column.get('name') is string and (column.get('type') is none or column['type'] is string) -%}
        {%- set found.is_list = found.is_list and is_column -%}
    {%- endfor -%}
    {%- if not found.is_list -%}
        {%- do tidemark.raise_error('data',
            entity ~ ': `_schema` of a DDL event is `' ~ text[:60] ~ '`, which is no list of columns; nothing was written. Mend the event: '
            ~ '[{"name": "id", "type": "int"}, …]'
        ) -%}
    {%- endif -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- A Debezium schema-change message as {operation, table, columns, ddl}, or none if it is of another table. -#}
{%- macro debezium_statement(row, batch) -%}
    {%- set ddl, ours = row['_ddl'] or '', tidemark.names_of_table(batch) -%}
    {%- set changes = fromjson(row['_table_changes'] or '[]') or [] -%}
    {%- set of_database = modules.re.match('(?is)\\s*(create|drop)\\s+(?:or\\s+replace\\s+)?(?:database|schema)\\b', ddl) -%}
    {%- if of_database and tidemark.is_database_of(row['_ddl_database'], ours) -%}
        {{ return({'operation': of_database.group(1) | upper ~ '_DATABASE', 'table': none, 'columns': none, 'ddl': ddl}) }}
    {%- endif -%}
    {%- for change in changes -%}
        {%- set name = change['id'] | replace('"', '') | replace('`', '') -%}
        {%- set columns = tidemark.ddl_columns(change['table']['columns'], captured=row['_is_captured'], ddl=ddl) if change.get('table') else none -%}
        {%- set previous = tidemark.renamed_table(ddl, name) -%}
        {%- if previous and tidemark.is_one_of_tables(previous, ours) -%}
            {{ return({'operation': 'RENAME_TABLE', 'table': name, 'previous': previous, 'columns': columns, 'ddl': ddl}) }}
        {%- endif -%}
        {%- if tidemark.is_one_of_tables(name, ours) -%}
            {{ return({
                'operation': {'CREATE': 'CREATE_TABLE', 'DROP': 'DROP_TABLE'}.get(change['type'], 'ALTER_TABLE'),
                'table': name, 'previous': previous, 'columns': columns, 'ddl': ddl,
            }) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The former name of a table in a statement that renames it, in the new one's database; none if it says nothing. Several statements of
    MySQL do so: RENAME TABLE a TO b, c TO d; ALTER TABLE a ADD COLUMN …, RENAME [TO] b. -#}
{%- macro renamed_table(ddl, name) -%}
    {%- set part = '(?:`[^`]+`|"[^"]+"|[^\\s,;.`"()]+)' -%}
    {%- set table = '(' ~ part ~ '(?:\\.' ~ part ~ ')*)' -%}
    {%- set said = tidemark._without_texts(ddl) -%}
    {%- set pattern = '(?i)' ~ table ~ '\\s+(?:wait\\s+\\d+\\s+|nowait\\s+)?to\\s+' ~ table if modules.re.match('(?i)\\s*rename\\s', said)
        else '(?is)^\\s*alter\\s+(?:online\\s+|ignore\\s+)*table\\s+(?:if\\s+exists\\s+)?' ~ table
        ~ '\\s(?:.*[\\s,])?rename\\s+(?!column\\b|index\\b|key\\b|constraint\\b)(?:to\\s+|as\\s+|=\\s*)?' ~ table -%}
    {%- for pair in modules.re.findall(pattern, said) -%}
        {%- set old, new = pair[0] | replace('`', '') | replace('"', ''), pair[1] | replace('`', '') | replace('"', '') -%}
        {%- if tidemark.is_one_of_tables(name, [new]) -%}
            {%- set parts = name.split('.')[:-1] -%}
            {{ return((parts[:[parts | length - old.count('.'), 0] | max] + [old]) | join('.')) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The text of a statement without comments and texts; what stands in a comment that a server executes is none, nor is a quoted name. -#}
{%- macro _without_texts(ddl) -%}
    {%- set left_out = "/\\*(?!M?!).*?\\*/|'(?:[^'\\\\]|\\\\.|'')*'|\\b(?:comment|default)\\s*=?\\s*\"(?:[^\"\\\\]|\\\\.)*\"" -%}
    {%- set kept = namespace(text='', end=0) -%}
    {%- for found in modules.re.finditer('(?is)(`[^`]*`|"(?:[^"\\\\]|\\\\.)*")|' ~ left_out, ddl) -%}
        {%- set kept.text = kept.text ~ ddl[kept.end:found.start()] ~ (found.group(1) or ' ') -%}
        {%- set kept.end = found.end() -%}
    {%- endfor -%}
    {{ return(kept.text ~ ddl[kept.end:]) }}
{%- endmacro -%}

{#- Whether the text of a statement renames a column: CHANGE [COLUMN] a b, RENAME COLUMN a TO b. -#}
{%- macro says_rename(ddl, old, new) -%}
    {%- set name = '[`"\\[]?%s[`"\\]]?' -%}
    {%- set pattern = '(?is)(change|rename)\\s+(column\\s+)?(if\\s+exists\\s+)?' ~ (name | replace('%s', modules.re.escape(old))) ~ '\\s+(to\\s+)?'
        ~ (name | replace('%s', modules.re.escape(new))) ~ '(?![\\w])' -%}
    {{ return(modules.re.search(pattern, tidemark._without_texts(ddl)) is not none) }}
{%- endmacro -%}

{%- macro is_database_of(database, tables) -%}
    {%- for table in tables if database and table | lower != database | lower and (table | lower).startswith(database | lower ~ '.') -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}
