{#- Print the last commits of an entity, or of all, newest first. With `format: json` the rows come on one
    line. -#}
{%- macro show_commits(entity=none, limit=20, format='text') -%}
    {%- do tidemark.check_shown_format(format) -%}
    {%- set commits = tidemark.ensure_commits(tidemark.run_config()) -%}
    {%- set relation = none if entity is none else tidemark.committed_relation(entity, commits) -%}
    {%- set rows = tidemark.json_rows(tidemark.listed_commits_sql(commits['states'], relation, none,
        limit | int)) -%}
    {%- if format == 'json' -%}
        {%- do log('tidemark commits ' ~ tojson({'entity': entity, 'rows': rows}), info=true) -%}
    {%- elif not rows -%}
        {%- do log((entity ~ ' has' if entity else 'there are') ~ ' no commits yet', info=true) -%}
    {%- else -%}
        {%- set table = [] -%}
        {%- for row in rows -%}
            {%- do table.append({
                'commit': row['commit_id'] | string, 'entity': row['entity'], 'kind': row['kind'],
                'business date': row['business_date'],
                'state': row['state'], 'completed': row['completed_at'], 'I': row['rows_inserted'],
                'U': row['rows_updated'],
                'D': row['rows_deleted'], 'rejected': row['rows_rejected'] or none,
                'superseded': row['rows_superseded'] or none, 'note': tidemark.commit_note(row),
            }) -%}
        {%- endfor -%}
        {%- for line in tidemark.table_lines(table, ['I', 'U', 'D', 'rejected', 'superseded']) -%}
            {%- do log(line, info=true) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{#- Print all that is recorded of a commit. `entity` is needed only where two entities have a commit of that
    number. -#}
{%- macro show_commit(commit, entity=none, format='text') -%}
    {%- do tidemark.check_shown_format(format) -%}
    {%- set commits = tidemark.ensure_commits(tidemark.run_config()) -%}
    {%- set relation = none if entity is none else tidemark.committed_relation(entity, commits) -%}
    {%- set id = commit | string | trim -%}
    {%- if not modules.re.fullmatch('[0-9]{1,18}', id) -%}
        {%- do tidemark.raise_error('usage',
            "commit must be a commit id such as 260304093000123, found: '" ~ commit ~ "'") -%}
    {%- endif -%}
    {%- set rows = tidemark.json_rows(tidemark.listed_commits_sql(commits['states'], relation, id, 100)) -%}
    {%- if not rows -%}
        {%- set last = [] -%}
        {%- for row in tidemark.json_rows(tidemark.listed_commits_sql(commits['states'], relation, none,
            5)) -%}
            {%- do last.append(row['commit_id'] ~ ' (' ~ ('' if entity else row['entity'] ~ ' ')
                ~ (row['business_date'] or row['kind']) ~ ')') -%}
        {%- endfor -%}
        {%- do tidemark.raise_error('usage',
            'there is no commit ' ~ id ~ (' of ' ~ entity if entity else '')
                ~ '. Name one of the last commits: ' ~ (last | join(', ') or 'none')
        ) -%}
    {%- elif rows | length > 1 -%}
        {%- do tidemark.raise_error('usage',
            'commit ' ~ id ~ ' is there of ' ~ rows | map(attribute='entity') | sort | join(' and ')
                ~ '. Name one of them with `entity`'
        ) -%}
    {%- endif -%}
    {%- set row = rows[0] -%}
    {%- do row.update({'details': fromjson(row['details'] or 'null'),
        'tables': tidemark.tables_of_commit(row)}) -%}
    {%- if format == 'json' -%}
        {%- do log('tidemark commit ' ~ tojson(row), info=true) -%}
    {%- else -%}
        {%- do log('commit ' ~ row['commit_id'] ~ ' of ' ~ row['relation'], info=true) -%}
        {%- for name, text in tidemark.commit_lines(row) -%}{%- do log('  ' ~ name.ljust(14) ~ text,
            info=true) -%}{%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro check_shown_format(format) -%}
    {%- if format not in ['text', 'json'] -%}
        {%- do tidemark.raise_error('usage', "format must be text or json, found: '" ~ format ~ "'") -%}
    {%- endif -%}
{%- endmacro -%}

{#- schema.name of a model that has commits, also of one that the project has no more; else an error with the
    nearest. -#}
{%- macro committed_relation(entity, commits) -%}
    {%- set names, kinds = [], ['cdc', 'scd2', 'feed', 'atomic', 'shred'] -%}
    {%- for node in tidemark.models_of(kinds) -%}
        {%- if entity in [node['name'], node['schema'] ~ '.' ~ node['alias']] -%}
            {%- set one = tidemark.entity_node(entity, kinds) -%}
            {{ return(one['schema'] ~ '.' ~ one['alias']) }}
        {%- endif -%}
        {%- do names.append(node['name']) -%}
    {%- endfor -%}
    {%- for row in run_query('select distinct entity, relation from ' ~ commits['states']) -%}
        {%- if row[0] == entity -%}{{ return(row[1]) }}{%- endif -%}
        {%- do names.append(row[0]) -%}
    {%- endfor -%}
    {%- do tidemark.raise_error('usage',
        "there is no cdc, scd2, feed, atomic or shred model named '" ~ entity ~ "'"
            ~ (tidemark._did_you_mean(entity, names | unique | list) if names else '')
    ) -%}
{%- endmacro -%}

{#- What a commit has beside its numbers: what it went to or read, what became of it. -#}
{%- macro commit_note(row) -%}
    {%- set taken = '"removed": true' in (row['details'] | string)
        or (row['details'] is mapping and row['details'].get('removed')) -%}
    {%- set source = {
        'rollback': 'to ', 'savepoint': 'off ' if taken else 'on ', 'clean': 'changes kept from ',
    }.get(row['kind'], 'read ' ~ (row['source_relation'] or '').split('.')[-1] ~ ' up to '
        if row['source_relation'] else '') -%}
    {%- set notes = [
        row['rows_tied'] ~ ' tied' if row.get('rows_tied') else none,
        ('savepoint ' ~ row['savepoint']) | trim if row['savepoint'] is not none else none,
        'undone by ' ~ row['undone_by'] if row['undone_by'] is not none else none,
        source ~ row['source_commit_id'] if source and row['source_commit_id'] is not none else none,
    ] -%}
    {{ return(notes | select | join('; ')) }}
{%- endmacro -%}

{#- A commit as pairs of a label and a text, without what it has not. -#}
{%- macro commit_lines(row) -%}
    {%- set lines = [['kind', row['kind'] ~ (' of ' ~ row['business_date'] if row['business_date'] else '')
        ~ (', a correction' if row['is_correction'] and row['kind'] != 'rollback' else '')]] -%}
    {%- do lines.append(['state',
        row['state'] ~ ', begun ' ~ row['started_at'] ~ (', ended ' ~ row['completed_at']
        ~ (' (' ~ row['seconds'] | round(1) ~ ' s)' if row['seconds'] is not none else '')
            if row['completed_at'] else '')]) -%}
    {%- set counts = [] -%}
    {%- for name, number in row.items() if name.startswith('rows_') and number -%}
        {%- do counts.append(name[5:] | replace('_', ' ') ~ ' ' ~ '{:,}'.format(number)) -%}
    {%- endfor -%}
    {%- do lines.append(['rows', counts | join(', ') or 'none']) -%}
    {%- do lines.append(['note', tidemark.commit_note(row)]) -%}
    {%- set batch = [] -%}
    {%- for name, label in [
        ('batch_id', 'of commit'), ('first_sequence_num', 'from sequence'),
        ('last_sequence_num', 'to sequence'), ('last_file', 'last file')
    ] if row[name] is not none -%}
        {%- do batch.append(label ~ ' ' ~ row[name]) -%}
    {%- endfor -%}
    {%- do lines.append(['batch', batch | join(', ')]) -%}
    {%- for table in row['tables'] -%}
        {%- set versions = 'version '
            ~ (table['version_before'] if table['version_before'] is not none else 'none') ~ ' -> '
            ~ table['version_after'] -%}
        {%- set files = 'the files are not known any more' if table['files_added'] is none else
            tidemark.files_text(table, 'added') ~ ', ' ~ tidemark.files_text(table, 'removed') -%}
        {%- do lines.append([table['name'],
            table['relation'] ~ ': '
            ~ (versions ~ ', no change' if table['version_before'] == table['version_after']
            else versions ~ ', ' ~ files)]) -%}
    {%- endfor -%}
    {%- do lines.append(['config', row['config_fingerprint']]) -%}
    {%- do lines.append(['invocation', row['invocation_id']]) -%}
    {%- do lines.append(['details', tojson(row['details']) if row['details'] else none]) -%}
    {{ return(lines | selectattr(1) | list) }}
{%- endmacro -%}

{#- The Delta tables whose versions a commit recorded, with what its versions added and removed. After a full
    refresh or a rehash the log that a commit wrote has another name. -#}
{%- macro tables_of_commit(row) -%}
    {%- set schema, name = row['relation'].rsplit('.', 1) -%}
    {%- set current = api.Relation.create(schema=schema, identifier=name) -%}
    {%- set log_table = tidemark.side_relation(current, 'log') -%}
    {%- if row['next_log_id'] is not none -%}{%- set log_table = tidemark.old_relation(log_table,
        row['next_log_id']) -%}{%- endif -%}
    {%- set tables = [] -%}
    {%- for name, relation in [('log', log_table), ('current', current)]
        if row[name ~ '_version_after'] is not none -%}
        {%- set before = row['previous_version'] if row['source_relation']
            else row[name ~ '_version_before'] -%}
        {%- set table = {
            'name': name, 'relation': relation | string, 'version_before': before,
            'version_after': row[name ~ '_version_after'],
            'files_added': none, 'bytes_added': none, 'files_removed': none, 'bytes_removed': none,
        } -%}
        {%- if tidemark.relation_exists(relation) -%}
            {%- do table.update(tidemark.files_of_versions(relation, table['version_before'],
                table['version_after'])) -%}
        {%- endif -%}
        {%- do tables.append(table) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro -%}

{#- Files and bytes that the versions (before, after] of a Delta table added and removed; nothing if its
    history has them no more. -#}
{%- macro files_of_versions(relation, before, after) -%}
    {%- if tidemark.lake_format() != 'delta' -%}{{ return({}) }}{%- endif -%}
    {%- set first = (before if before is not none else -1) | int + 1 -%}
    {%- set at = namespace(seen=0) -%}
    {%- set sums = {'files_added': 0, 'bytes_added': 0, 'files_removed': 0, 'bytes_removed': 0} -%}
    {%- set names = {
        'files_added': ['numFiles', 'numAddedFiles', 'numTargetFilesAdded'],
        'bytes_added': ['numOutputBytes', 'numAddedBytes', 'numTargetBytesAdded'],
        'files_removed': ['numRemovedFiles', 'numTargetFilesRemoved'],
        'bytes_removed': ['numRemovedBytes', 'numTargetBytesRemoved'],
    } -%}
    {%- for row in tidemark.query_rows('describe history ' ~ relation)
        if first <= row['version'] | int <= after | int -%}
        {%- set at.seen = at.seen + 1 -%}
        {%- set metrics = fromyaml(row['operationMetrics'] | string) or {} -%}
        {%- for sum, known in names.items() -%}
            {%- for name in known if name in metrics -%}{%- do sums.update({sum: sums[sum]
                + metrics[name] | int}) -%}{%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(sums if at.seen == after | int - first + 1 else {}) }}
{%- endmacro -%}

{%- macro files_text(table, what) -%}
    {%- set count = table['files_' ~ what] -%}
    {%- set text = '{:,} {} {}'.format(count, 'file' if count == 1 else 'files', what) -%}
    {{ return(text ~ ' (' ~ tidemark.bytes_text(table['bytes_' ~ what]) ~ ')' if count else text) }}
{%- endmacro -%}

{#- A number of bytes for a person. -#}
{%- macro bytes_text(number) -%}
    {%- set left = namespace(number=number | float, unit='B') -%}
    {%- for unit in ['kB', 'MB', 'GB', 'TB'] if left.number >= 1000 -%}
        {%- set left.number, left.unit = left.number / 1000, unit -%}
    {%- endfor -%}
    {{ return(('{:.0f} {}' if left.unit == 'B' else '{:.1f} {}').format(left.number, left.unit)) }}
{%- endmacro -%}

{#- Rows of the same names as lines of a table; a column that is empty in all of them is left out. -#}
{%- macro table_lines(rows, numbers) -%}
    {%- set columns = [] -%}
    {%- for name in rows[0] -%}
        {%- set cells = [name] -%}
        {%- for row in rows -%}
            {%- set value = row[name] -%}
            {%- set text = '' if value is none else value | string -%}
            {%- do cells.append('{:,}'.format(value) if name in numbers and value is not none else text) -%}
        {%- endfor -%}
        {%- set width = cells | map('length') | max -%}
        {%- if cells[1:] | join('') != '' -%}
            {%- set padded = [] -%}
            {%- for cell in cells -%}{%- do padded.append(cell.rjust(width) if name in numbers
                else cell.ljust(width)) -%}{%- endfor -%}
            {%- do columns.append(padded) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set lines = [] -%}
    {%- for number in range(rows | length + 1) -%}
        {%- do lines.append((columns | map(attribute=number) | join('  ')).rstrip()) -%}
    {%- endfor -%}
    {{ return(lines) }}
{%- endmacro -%}
