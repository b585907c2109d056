{#- What becomes of a statement by policy. -#}
{%- macro judge_statement(cfg, batch, statement, said, before) -%}
    {%- set kind = said['operation'] | lower -%}
    {%- set policy = cfg['ddl'].get(kind) -%}
    {%- do tidemark.follow_table(batch, said, kind == 'rename_table' and policy == 'apply') -%}
    {%- if kind in ['alter_table', 'create_table'] or (kind == 'rename_table' and policy == 'apply') -%}
        {%- for change in tidemark.column_changes(cfg, said, before) -%}
            {%- set change_policy = cfg['ddl'][change['kind']] -%}
            {%- do change.update({'policy': change_policy}) -%}
            {%- do statement['changes'].append(change) -%}
            {%- if change['kind'] == 'rename_column' and change_policy == 'apply' -%}
                {%- do batch['renames'].update({change['old']: change['name']}) -%}
            {%- endif -%}
            {%- if change_policy != 'ignore' -%}
                {%- do statement.update({'cuts': true}) -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if kind == 'create_table' and policy == 'fail' and before -%}
            {%- do statement.update({'cuts': true}) -%}
            {%- do statement['changes'].append({'kind': kind, 'policy': 'fail', 'name': ''}) -%}
        {%- endif -%}
    {%- elif policy == 'fail' -%}
        {%- do statement.update({'cuts': true}) -%}
        {%- do statement['changes'].append({'kind': kind, 'policy': 'fail', 'name': ''}) -%}
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
        {%- if was and was['type'] and column['type'] and not tidemark.is_same_by_name(was['type'], column['type']) and column['name'] | lower not in declared -%}
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

{#-
    The names that the table bears after a statement, `followed`, the last of which is its newest; rows of the batch under each name that it
    has had are taken (`tables`). Another table that takes a name which this one gave away is from then on the one that bears it: so a
    migration swaps a copy in (RENAME TABLE a TO a_old, a_new TO a), and so a full table is put aside (RENAME TABLE a TO a_2025; CREATE TABLE a).
-#}
{%- macro follow_table(batch, said, is_renamed) -%}
    {%- set names, new = tidemark.names_of_table(batch), said['table'] -%}
    {%- if is_renamed -%}
        {%- set names = names or [said['previous']] -%}
        {%- do batch.update({
            'followed': names | reject('equalto', new) | list + [new],
            'tables': ((batch['tables'] or names) + [new]) | unique | list,
        }) -%}
    {%- elif names and new and (said['operation'] == 'CREATE_TABLE' or said.get('previous')) and not tidemark.is_one_of_tables(new, names[-1:])
        and tidemark.is_one_of_tables(new, names[:-1]) -%}
        {%- do batch.update({'followed': [new]}) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The names by which the table of an entity is known: after the statements of the batch so far, by the setting or by its events. What the
    setting leaves out, such as the database, they tell: there may be a table of that name in another one. -#}
{%- macro names_of_table(batch) -%}
    {%- set names = [] -%}
    {%- for table in batch['tables'] -%}
        {%- set written = [] -%}
        {%- for name in batch['named'] if tidemark.is_one_of_tables(name, [table]) -%}{%- do written.append(name) -%}{%- endfor -%}
        {%- do names.extend(written or [table]) -%}
    {%- endfor -%}
    {{ return(batch['followed'] or names or batch['named']) }}
{%- endmacro -%}
