{#- What becomes of a statement by policy. -#}
{%- macro judge_statement(cfg, batch, statement, said, before) -%}
    {%- set kind = said['operation'] | lower -%}
    {%- set policy = cfg['ddl'].get(kind) -%}
    {%- do tidemark.follow_table(batch, said, kind == 'rename_table' and policy == 'apply') -%}
    {%- if kind in ['alter_table', 'create_table'] or (kind == 'rename_table' and policy == 'apply') -%}
        {%- for change in tidemark.column_changes(cfg, said, before) -%}
            {%- do change.update(tidemark.judge_change(cfg, change)) -%}
            {%- set change_policy = change['policy'] -%}
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
    {%- for rename in tidemark.hidden_renames(said, before) -%}
        {%- do renamed.update({rename['old']: rename['name']}) -%}
        {%- do changes.append(rename) -%}
        {#- whose name is taken is put aside, unless a drop stops the run -#}
        {%- if not rename['crosses'] and rename['name'] in old_names and cfg['ddl']['drop_column'] == 'fail' -%}
            {%- do changes.append({'kind': 'drop_column', 'name': rename['name']}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in new_names if name not in old_names and name not in renamed.values() -%}
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
    {%- set declared, kept = tidemark.declared_names_with_type(cfg), tidemark._aliases(cfg, {'renames': {}}) -%}
    {%- set follows = cfg['ddl']['rename_column'] == 'apply' -%}
    {%- set former = {} -%}
    {%- for old, new in renamed.items() if follows -%}{%- do former.update({new: old}) -%}{%- endfor -%}
    {%- for column in said['columns'] -%}
        {%- set was = before | selectattr('name', 'equalto', former.get(column['name'], column['name'])) | first | default(none) -%}
        {#- its values go to the column that is declared under its former name, or that keeps it by previous_names -#}
        {%- set names = [column['name'], former.get(column['name'], ''), kept.get(column['name'] | lower, '')] | map('lower') -%}
        {%- set is_declared = names | select('in', declared) | list | length > 0 -%}
        {%- if was and was['type'] and column['type'] and not tidemark.is_same_by_name(was['type'], column['type']) and not is_declared -%}
            {%- set wider = tidemark.wider_type(was['type'], column['type'], cfg['file_format']) -%}
            {%- do changes.append({
                'kind': 'widen_column' if wider else 'change_type', 'name': column['name'], 'type': column['type'], 'was': was['type'],
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro -%}

{#-
    What becomes of a change by policy: {policy}, and `stops`, [what of it, what to do], where it cannot be applied. A column whose name
    `previous_names` keeps is not renamed.
-#}
{%- macro judge_change(cfg, change) -%}
    {%- set policy = cfg['ddl'][change['kind']] -%}
    {%- if change['kind'] != 'rename_column' or policy != 'apply' -%}{{ return({'policy': policy}) }}{%- endif -%}
    {%- set old, new = change['old'] | lower, change['name'] | lower -%}
    {%- if change['crosses'] -%}
        {{ return({'policy': 'fail', 'stops': [
            'in which `' ~ change['old'] ~ '` becomes `' ~ change['name'] ~ '` while another column takes or gives up one of these names: that cannot be followed',
            'Set ddl.rename_column to ignore under meta.tidemark and run again, then have the source read the whole table once more: until then rows keep'
            ~ ' what they have under each name. Or begin anew with --full-refresh on a snapshot from after the statement',
        ]}) }}
    {%- endif -%}
    {%- if tidemark._aliases(cfg, {'renames': {}}).get(new) == old -%}{{ return({'policy': 'ignore'}) }}{%- endif -%}
    {%- set settings = {'unique_key': cfg['keys'], 'sequence_by': cfg['sequence_by']} -%}
    {%- if old not in cfg['columns'] | map(attribute='name') | map('lower') -%}
        {%- do settings.update({
            'ignore': cfg['ignore'], 'sensitive': cfg['sensitive'], 'track_history': cfg['tracked']['include'] + cfg['tracked']['exclude'],
            'columns': cfg['chosen']['include'],
        }) -%}
    {%- endif -%}
    {%- if old in cfg['chosen']['exclude'] and new not in cfg['chosen']['exclude'] -%}
        {{ return({'policy': 'fail', 'stops': [
            'and columns leaves out `' ~ change['old'] ~ '`, which is `' ~ change['name'] ~ '` now',
            'Name `' ~ change['name'] ~ '` under columns.exclude too, and run again',
        ]}) }}
    {%- endif -%}
    {%- for setting, names in settings.items() if old != new and old in names | map('lower') -%}
        {{ return({'policy': 'fail', 'stops': [
            'and ' ~ setting ~ ' names `' ~ change['old'] ~ '`, which is `' ~ change['name'] ~ '` now',
            'Set previous_names: {' ~ change['old'] ~ ': ' ~ change['name'] ~ '} under meta.tidemark, by which the column keeps its name here, and run again',
        ]}) }}
    {%- endfor -%}
    {{ return({'policy': policy}) }}
{%- endmacro -%}

{#-
    The renames within a statement, {old, name}, that names before and after it do not show: where one of the names stays with another
    column. They cross if that one takes or gives up its name in the statement, too: tables on their way do not tell which has which values.
-#}
{%- macro hidden_renames(said, before) -%}
    {%- set part = '(`[^`]+`|"[^"]+"|[^\\s,;.`"()]+)' -%}
    {%- set pattern = '(?i)\\b(?:change|rename)\\s+(?!(?:tables?|to|as|index|key|constraint)\\b)(?:column\\s+)?(?:if\\s+exists\\s+)?'
        ~ part ~ '\\s+(?:to\\s+)?' ~ part -%}
    {%- set pairs = [] -%}
    {%- for old, new in modules.re.findall(pattern, tidemark._without_texts(said.get('ddl') or '')) -%}
        {%- do pairs.append((old.strip('`"') | lower, new.strip('`"') | lower)) -%}
    {%- endfor -%}
    {%- for column in said['columns'] if column.get('previous_name') -%}
        {%- set was = before | selectattr('name', 'equalto', column['name']) | first | default({}) -%}
        {#- a source may go on to say what a column was called once -#}
        {%- if was.get('previous_name') != column['previous_name'] -%}
            {%- do pairs.append((column['previous_name'] | lower, column['name'] | lower)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set old_names, new_names, renames = {}, {}, [] -%}
    {%- for column in before -%}{%- do old_names.update({column['name'] | lower: column['name']}) -%}{%- endfor -%}
    {%- for column in said['columns'] -%}{%- do new_names.update({column['name'] | lower: column['name']}) -%}{%- endfor -%}
    {%- set pairs = pairs | selectattr(0, 'in', old_names) | selectattr(1, 'in', new_names) | list -%}
    {%- for old, new in pairs if old != new and (old in new_names or new in old_names) -%}
        {%- set crosses = old in new_names or new in pairs | map(attribute=0) -%}
        {%- do renames.append({'kind': 'rename_column', 'old': old_names[old], 'name': new_names[new], 'crosses': crosses}) -%}
    {%- endfor -%}
    {{ return(renames) }}
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
