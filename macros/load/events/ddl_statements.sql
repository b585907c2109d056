{#- DDL events: what they say, what they do to the tables by policy. -#}

{#-
    The DDL events of the batch that concern the entity's table and were not applied yet, in landing order. Each has
    `changes` to columns, and `cuts` the batch where rows before and after it need other columns. A snapshot's DDL only
    tells the columns: it never changes a target.
-#}
{%- macro statements_of(opened, landing, batch) -%}
    {%- set cfg, state, relations = opened['cfg'], opened['state'], opened['relations'] -%}
    {%- set known = [] -%}
    {%- if not state['first'] -%}
        {%- for row in run_query('select distinct _event_id from ' ~ relations['log'] ~ " where _operation = 'T' and " ~ tidemark.in_force_expr()) -%}
            {%- do known.append(row[0]) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set statements = [] -%}
    {%- set now = namespace(columns=batch['source_columns']) -%}
    {%- for row in tidemark.query_rows(tidemark.ddl_events_sql(landing['events'])) -%}
        {%- set said = tidemark.canonical_statement(row, batch) if row['_operation'] else tidemark.debezium_statement(row, batch) -%}
        {%- if said -%}
            {%- do tidemark.check_told_types(cfg['entity'], said['columns']) -%}
            {%- if row['_is_snapshot'] or row['_event_id'] in known -%}
                {%- if said['columns'] and row['_event_id'] not in known -%}
                    {%- set now.columns = said['columns'] -%}
                {%- endif -%}
                {%- if not statements -%}{%- do batch.update({'source_columns': now.columns}) -%}{%- endif -%}
            {%- else -%}
                {%- set statement = {
                    'landing_num': row['_landing_num'], 'event_time': row['_event_time'], 'sequence_num': row['_sequence_num'], 'event_id': row['_event_id'],
                    'operation': said['operation'], 'text': row['_ddl'] or said['operation'],
                    'columns': said['columns'] or now.columns, 'changes': [], 'effect': 'none', 'cuts': false,
                } -%}
                {%- do tidemark.judge_statement(cfg, batch, statement, said, now.columns) -%}
                {%- set now.columns = statement['columns'] -%}
                {%- do statements.append(statement) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(statements) }}
{%- endmacro -%}


{#- What becomes of a statement by policy. -#}
{%- macro judge_statement(cfg, batch, statement, said, before) -%}
    {%- set kind = said['operation'] | lower -%}
    {%- set policy = cfg['ddl'].get(kind) -%}
    {%- if kind in ['alter_table', 'create_table'] -%}
        {%- for change in tidemark.column_changes(cfg, said, before) -%}
            {%- set change_policy = cfg['ddl'][change['kind']] -%}
            {%- do change.update({'policy': change_policy}) -%}
            {%- do statement['changes'].append(change) -%}
            {%- if change['kind'] == 'rename_column' and change_policy == 'apply' -%}
                {%- do batch['renames'].update({change['old']: change['name']}) -%}
            {%- endif -%}
            {%- if change_policy != 'ignore' -%}
                {%- do statement.update({'cuts': true}) -%}
            {%- elif change['kind'] == 'add_column' -%}
                {%- do batch['refused'].append(change['name']) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if kind == 'create_table' and policy == 'fail' and before -%}
            {%- do statement.update({'cuts': true}) -%}
            {%- do statement['changes'].append({'kind': kind, 'policy': 'fail', 'name': ''}) -%}
        {%- endif -%}
    {%- elif policy == 'fail' -%}
        {%- do statement.update({'cuts': true}) -%}
        {%- do statement['changes'].append({'kind': kind, 'policy': 'fail', 'name': ''}) -%}
    {%- elif policy == 'apply' and kind == 'rename_table' -%}
        {%- do batch.update({'tables': ((batch['tables'] or [said['previous']]) + [said['table']]) | unique | list}) -%}
    {%- elif policy == 'apply' and kind in ['drop_table', 'truncate_table', 'drop_database'] -%}
        {%- do statement.update({'effect': 'close', 'operation': 'TRUNCATE'}) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The changes of columns between two lists: {kind, name, …}; a rename where the statement says so. -#}
{%- macro column_changes(cfg, said, before) -%}
    {%- set changes = [] -%}
    {%- if not before or not said['columns'] -%}{{ return(changes) }}{%- endif -%}
    {%- set old_names = before | map(attribute='name') | list -%}
    {%- set new_names = said['columns'] | map(attribute='name') | list -%}
    {%- set renamed = {} -%}
    {%- for name in new_names if name not in old_names -%}
        {%- for old in old_names if old not in new_names and old not in renamed -%}
            {%- set column = said['columns'] | selectattr('name', 'equalto', name) | first -%}
            {%- if column.get('previous_name') == old or tidemark.says_rename(said.get('ddl') or '', old, name) -%}
                {%- do renamed.update({old: name}) -%}
                {%- do changes.append({'kind': 'rename_column', 'old': old, 'name': name}) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in said['columns'] if column['name'] not in old_names and column['name'] not in renamed.values() -%}
        {%- do changes.append({'kind': 'add_column', 'name': column['name'], 'column': column}) -%}
    {%- endfor -%}
    {%- for old in old_names if old not in new_names and old not in renamed -%}
        {%- do changes.append({'kind': 'drop_column', 'name': old}) -%}
    {%- endfor -%}
    {%- set declared = tidemark.declared_names_with_type(cfg) -%}
    {%- for column in said['columns'] -%}
        {%- set was = before | selectattr('name', 'equalto', column['name']) | first | default(none) -%}
        {%- if was and was['type'] and column['type'] and was['type'] != column['type'] and column['name'] | lower not in declared -%}
            {%- set wider = tidemark.is_widening(was['type'], column['type'], cfg['file_format']) -%}
            {%- do changes.append({
                'kind': 'widen_column' if wider else 'change_type', 'name': column['name'], 'type': column['type'], 'was': was['type'],
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro -%}


{%- macro declared_names_with_type(cfg) -%}
    {{ return(cfg['columns'] | selectattr('data_type') | map(attribute='name') | map('lower') | list) }}
{%- endmacro -%}


{#- Whether the text of a statement renames a column: CHANGE [COLUMN] a b, RENAME COLUMN a TO b. -#}
{%- macro says_rename(ddl, old, new) -%}
    {%- set name = '[`"\\[]?%s[`"\\]]?' -%}
    {%- set pattern = '(?is)(change|rename)\\s+(column\\s+)?' ~ (name | replace('%s', modules.re.escape(old))) ~ '\\s+(to\\s+)?'
        ~ (name | replace('%s', modules.re.escape(new))) ~ '(?![\\w])' -%}
    {{ return(modules.re.search(pattern, ddl) is not none) }}
{%- endmacro -%}


{#- A canonical DDL event as {operation, table, columns, ddl}, or none if it is of another table. -#}
{%- macro canonical_statement(row, batch) -%}
    {%- set name = ([row['_database'], row['_table']] | select | join('.')) -%}
    {%- set previous = ([row['_database'], row['_prev_table']] | select | join('.')) if row['_prev_table'] else none -%}
    {%- set operation, ours = row['_operation'], batch['tables'] or batch['named'] -%}
    {%- if operation in ['CREATE_DATABASE', 'DROP_DATABASE'] -%}
        {%- if not tidemark.is_database_of(row['_database'], ours) -%}{{ return(none) }}{%- endif -%}
    {%- elif operation == 'RENAME_TABLE' -%}
        {%- if not previous or not tidemark.is_one_of_tables(previous, ours) -%}{{ return(none) }}{%- endif -%}
    {%- elif not tidemark.is_one_of_tables(name, ours) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for column in fromjson(row['_schema'] or '[]') -%}
        {%- do columns.append({
            'name': column['name'], 'type': column.get('type') | lower if column.get('type') else none, 'encoding': 'auto',
            'default': tidemark._json_text(column['default']) if column.get('default') is not none else none,
            'previous_name': column.get('previous_name'),
        }) -%}
    {%- endfor -%}
    {{ return({'operation': operation, 'table': name, 'previous': previous, 'columns': columns or none}) }}
{%- endmacro -%}


{#- A Debezium schema-change message as {operation, table, columns, ddl}, or none if it is of another table. -#}
{%- macro debezium_statement(row, batch) -%}
    {%- set ddl, ours = row['_ddl'] or '', batch['tables'] or batch['named'] -%}
    {%- set changes = fromjson(row['_table_changes'] or '[]') or [] -%}
    {%- if modules.re.match('(?is)\\s*drop\\s+(database|schema)\\b', ddl) and tidemark.is_database_of(row['_ddl_database'], ours) -%}
        {{ return({'operation': 'DROP_DATABASE', 'table': none, 'columns': none, 'ddl': ddl}) }}
    {%- endif -%}
    {%- for change in changes -%}
        {%- set name = change['id'] | replace('"', '') | replace('`', '') -%}
        {%- set columns = tidemark.ddl_columns(change['table']['columns'], captured=row['_is_captured']) if change.get('table') else none -%}
        {%- set previous = tidemark.renamed_table(ddl, name) -%}
        {%- if previous and tidemark.is_one_of_tables(previous, ours) -%}
            {{ return({'operation': 'RENAME_TABLE', 'table': name, 'previous': previous, 'columns': columns, 'ddl': ddl}) }}
        {%- endif -%}
        {%- if tidemark.is_one_of_tables(name, ours) -%}
            {{ return({
                'operation': {'CREATE': 'CREATE_TABLE', 'DROP': 'DROP_TABLE'}.get(change['type'], 'ALTER_TABLE'),
                'table': name, 'columns': columns, 'ddl': ddl,
            }) }}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}


{#- The former name of a table, of `RENAME TABLE a TO b` or `ALTER TABLE a RENAME [TO] b`, in the new one's database; none if it says nothing. -#}
{%- macro renamed_table(ddl, name) -%}
    {%- set database = name.split('.')[:-1] | join('.') -%}
    {%- for pattern in ['(?is)([^\\s,]+)\\s+to\\s+([^\\s,;]+)', '(?is)alter\\s+table\\s+([^\\s]+)\\s+rename\\s+(?:to\\s+|as\\s+)?([^\\s,;]+)'] -%}
        {%- if modules.re.match('(?is)\\s*(rename\\s+table|alter\\s+table\\s+\\S+\\s+rename\\s+(?!column|index|key))', ddl) -%}
            {%- for pair in modules.re.findall(pattern, ddl) -%}
                {%- set old, new = pair[0] | replace('`', '') | replace('"', ''), pair[1] | replace('`', '') | replace('"', '') -%}
                {%- if new | lower == name | lower or database ~ '.' ~ new | lower == name | lower -%}
                    {{ return(old if '.' in old or not database else database ~ '.' ~ old) }}
                {%- endif -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}


{%- macro is_database_of(database, tables) -%}
    {%- for table in tables if database and table | lower != database | lower and (table | lower).startswith(database | lower ~ '.') -%}
        {{ return(true) }}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}


{#- The statements that are logged with a stretch, with the fills of columns that they added. -#}
{%- macro statements_within(opened, plan, batch, stretch) -%}
    {%- set within = [] -%}
    {%- for statement in batch['statements'] if tidemark.is_within(statement, stretch) -%}
        {%- do within.append(statement) -%}
        {%- do within.extend(tidemark.with_values(plan, statement.get('fills', []))) -%}
    {%- endfor -%}
    {%- if batch['source_columns'] is none and not stretch['from'] -%}
        {%- do within.extend(tidemark.with_values(plan, tidemark.fills_of_schemas(opened, plan, batch))) -%}
    {%- endif -%}
    {{ return(within) }}
{%- endmacro -%}


{#-
    Bring a DDL event to the tables: rename and drop columns; added and wider ones follow from the plan. Doing it twice
    does nothing the second time, as what is there is looked at. `recorded` and `batch` are told.
-#}
{%- macro apply_statement(opened, recorded, batch, statement) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- for change in statement['changes'] if change['policy'] == 'fail' -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': the source did `' ~ statement['text'] ~ '`, and ddl.' ~ change['kind'] ~ ' is fail; what came before it was applied. '
            ~ ('The type of `' ~ change['name'] ~ '` went from ' ~ change['was'] ~ ' to ' ~ change['type'] ~ ', which the target cannot follow in place: declare a data_type for it that holds both, or '
               if change['kind'] == 'change_type' else '')
            ~ 'set ddl.' ~ change['kind'] ~ ' to apply or ignore under meta.tidemark, then run again'
        ) -%}
    {%- endfor -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set keys = cfg['keys'] | map('lower') | list -%}
    {%- for change in statement['changes'] -%}
        {%- if change['kind'] == 'add_column' -%}
            {%- if change['policy'] != 'ignore' and change['name'] not in batch['names'] -%}
                {%- do batch['names'].append(change['name']) -%}
            {%- endif -%}
            {%- set default = none if change['column'].get('default_is_stand_in') else change['column'].get('default') -%}
            {%- if default is not none and not cfg['sequence_by'] and (change['policy'] == 'apply' or change['name'] | lower in declared) -%}
                {%- do statement.setdefault('fills', []).append({
                    'operation': 'ADD_COLUMN', 'effect': 'fill', 'event_id': local_md5(statement['event_id'] ~ '|' ~ change['name']),
                    'sequence_num': statement['sequence_num'], 'landing_num': statement['landing_num'], 'event_time': statement['event_time'],
                    'column': change['name'], 'default': default, 'encoding': change['column'].get('default_encoding', change['column']['encoding']),
                }) -%}
            {%- endif -%}
        {%- elif change['kind'] == 'rename_column' and change['policy'] == 'apply' and recorded -%}
            {%- do tidemark.rename_column(cfg, relations, recorded, change['old'], change['name']) -%}
            {%- do batch['refused'].append(change['old']) -%}
        {%- elif change['kind'] == 'drop_column' and change['policy'] == 'apply' and recorded and change['name'] | lower not in keys -%}
            {%- do tidemark.drop_column(cfg, relations, recorded, change['name']) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Rename a column wherever it is stored. Its values, and its name in hashes, stay. -#}
{%- macro rename_column(cfg, relations, recorded, old, new) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- if old | lower in declared -%}{{ return(none) }}{%- endif -%}
    {%- for column in recorded['columns'] if column['name'] | lower == old | lower -%}
        {%- for name in ['log_table', 'current', 'staging', 'sensitive'] if tidemark.relation_exists(relations[name]) -%}
            {%- set present = adapter.get_columns_in_relation(relations[name]) | map(attribute='name') | map('lower') | list -%}
            {%- for prefix in ['', '_before_'] if (prefix ~ old) | lower in present -%}
                {%- if (prefix ~ new) | lower in present -%}
                    {#- Declared before it existed: nothing was ever stored in it. -#}
                    {%- do run_query('alter table ' ~ relations[name] ~ ' drop column ' ~ tidemark.quote_identifier(prefix ~ new)) -%}
                {%- endif -%}
                {%- do run_query('alter table ' ~ relations[name] ~ ' rename column ' ~ tidemark.quote_identifier(prefix ~ old)
                    ~ ' to ' ~ tidemark.quote_identifier(prefix ~ new)) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- set others = [] -%}
        {%- for other in recorded['columns'] if other['name'] | lower != new | lower -%}
            {%- do others.append(other) -%}
        {%- endfor -%}
        {%- do recorded.update({'columns': others}) -%}
        {%- do column.update({'name': new}) -%}
        {%- do recorded.update({'views_are_old': true}) -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Take a column away from current. The log keeps it and its values. -#}
{%- macro drop_column(cfg, relations, recorded, name) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- if name | lower in declared -%}{{ return(none) }}{%- endif -%}
    {%- for column in recorded['columns'] if column['name'] | lower == name | lower and not column['gone'] -%}
        {%- set present = adapter.get_columns_in_relation(relations['current']) | map(attribute='name') | map('lower') | list -%}
        {%- if name | lower in present -%}
            {%- do run_query('alter table ' ~ relations['current'] ~ ' drop column ' ~ tidemark.quote_identifier(column['name'])) -%}
        {%- endif -%}
        {%- do column.update({'gone': true}) -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Fills of columns that are stored, with the value as SQL. -#}
{%- macro with_values(plan, fills) -%}
    {%- set valued = [] -%}
    {%- for fill in fills -%}
        {%- for column in plan['columns'] if column['name'] | lower == fill['column'] | lower and not column['key'] -%}
            {%- do valued.append(dict(
                fill, column=column['name'], value=tidemark.decode_expr(tidemark.string_literal(fill['default']), fill['encoding'], column['type'])
            )) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(valued) }}
{%- endmacro -%}


{#-
    Where no DDL events come (PostgreSQL), the inline schema shows a new column: its default fills the rows that were
    there before the first event with it.
-#}
{%- macro fills_of_schemas(opened, plan, batch) -%}
    {%- set state = opened['state'] -%}
    {%- set fills = [] -%}
    {%- if opened['cfg']['sequence_by'] -%}{{ return(fills) }}{%- endif -%}
    {%- for column in plan['columns'] if column['default'] is not none -%}
        {%- set with_it, without = [], [] -%}
        {%- for schema_id, fields in batch['schemas'].items() -%}
            {%- set names = fields | map(attribute='name') | map('lower') | list -%}
            {%- set has_it = column['sources'] | map('lower') | select('in', names) | list | length > 0 -%}
            {%- do (with_it if has_it else without).append(batch['first_nums'][schema_id]) -%}
        {%- endfor -%}
        {%- set is_new = (without and with_it and without | min < with_it | min) or (with_it and not state['first'] and column['recorded_type'] is none) -%}
        {%- if is_new -%}
            {%- do fills.append({
                'operation': 'ADD_COLUMN', 'effect': 'fill', 'event_id': local_md5('add_column|' ~ column['name'] ~ '|' ~ with_it | min),
                'sequence_num': with_it | min, 'landing_num': with_it | min, 'column': column['name'],
                'default': column['default']['text'], 'encoding': column['default']['encoding'],
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(fills) }}
{%- endmacro -%}
