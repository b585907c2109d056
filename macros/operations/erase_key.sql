{#- Take the rows of one key out of all tables of an entity, and out of those derived from it. The commit has hashes of the key and counts,
    never its values, nor has any commit of the tables; a call that died is finished by the next one with the same key. Files of former versions stay until they are vacuumed. -#}
{%- macro erase_key(entity, key, dry_run=false, vacuum=false, confirm=false) -%}
    {%- set dry_run, vacuum = tidemark.is_true(dry_run), tidemark.is_true(vacuum) -%}
    {%- set opened = tidemark.open_entity(entity, 'erase', dry_run) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- do tidemark.check_erase(opened, vacuum and not dry_run and not tidemark.is_true(confirm)) -%}
    {%- set erased = tidemark.erased_key(opened, key) -%}
    {%- set steps = tidemark.erase_steps(opened, erased) -%}
    {%- set is_begun = tidemark.was_erased(opened, erased, 'inflight') -%}
    {#- one that died was rolled back by an erase of another key -#}
    {%- if not steps and not is_begun
        and not (vacuum and (tidemark.was_erased(opened, erased, 'completed') or tidemark.was_erased(opened, erased, 'rolled_back'))) -%}
        {%- do tidemark.raise_error('usage',
            entity ~ ': this key is in none of its tables (key hash ' ~ erased['hash'] ~ '). Give every column of unique_key ('
            ~ erased['names'] | join(', ') ~ ') as it is stored'
        ) -%}
    {%- endif -%}
    {%- for step in steps if dry_run -%}
        {%- do tidemark.say(entity, 'would ' ~ step['verb'] ~ ' ' ~ step['count'] ~ ' rows of ' ~ step['relation']) -%}
    {%- endfor -%}
    {%- if dry_run -%}
        {%- if is_begun -%}{%- do tidemark.say(entity, 'would finish erasing this key, which a call had begun') -%}{%- endif -%}
        {%- if vacuum -%}{%- do tidemark.vacuum_or_tell(entity, tidemark.erasable_tables(opened), dry_run) -%}{%- endif -%}
        {{ return(none) }}
    {%- endif -%}

    {%- set record = tidemark.operation_commit(opened, 'erase_key') -%}
    {%- set details = {'key_hashes': erased['marks'], 'removed': {}, 'vacuum': vacuum} -%}
    {%- do record.update({'details': tojson({'key_hashes': erased['marks']})}) -%}
    {%- do tidemark.begin_operation(opened, record) -%}
    {%- do tidemark.drop_slices(cfg['target'], 'all') -%}
    {%- do tidemark.clear_slices(cfg['target']) -%}
    {%- do tidemark.drop_plan(cfg['target']) -%}
    {%- if tidemark.can('keep_plan') -%}
        {%- do adapter.call_function('tidemark.plan.store.discard_plans_of', cfg['relation']) -%}
    {%- endif -%}
    {%- for step in steps -%}
        {%- do run_query(step['statement']) -%}
        {%- do details['removed'].update({step['relation'] | string: details['removed'].get(step['relation'] | string, 0) + step['count']}) -%}
        {%- do tidemark.say(entity, step['verb'] ~ 'd ' ~ step['count'] ~ ' rows of ' ~ step['relation']) -%}
    {%- endfor -%}
    {%- if vacuum -%}{%- do tidemark.vacuum_at_once(tidemark.erasable_tables(opened), record['commit_id']) -%}{%- endif -%}
    {%- do record.update({'details': tojson(details)}) -%}
    {%- do tidemark.record_commit(opened['commits'], record, 'completed', tidemark.table_versions(cfg, relations, 'after')) -%}
    {%- do tidemark.say(entity, 'erased the key in commit ' ~ record['commit_id'] ~ '; ' ~ (
        tidemark.vacuumed_files() if vacuum
        else 'files of former versions have it until they are vacuumed: clean with vacuum: true after the retention of the format, or here vacuum: true with confirm: true'
    )) -%}
    {%- do tidemark.tell_traces(entity, erased, key is not string) -%}
{%- endmacro -%}

{#- What there is of the key in the files of its tables after vacuum_at_once(). -#}
{%- macro vacuumed_files() -%}
    {%- if tidemark.lake_format() == 'iceberg' -%}
        {{ return('no data file of its tables has it any more; manifests of Iceberg may have the first 16 characters of it, as a bound of values, until they are written anew') }}
    {%- elif not tidemark.can('trim_log') -%}
        {{ return("no data file of its tables has it any more; Delta's log may have the first 32 characters of it, as a bound of values, for 30 days") }}
    {%- endif -%}
    {{ return('no file of its tables has it any more') }}
{%- endmacro -%}

{#- Take the key out of what was typed into the shell, and say which files beside the tables have it. -#}
{%- macro tell_traces(entity, erased, is_logged) -%}
    {%- set files = ["dbt's log (with this command)"] if is_logged else [] -%}
    {%- if tidemark.can('call_python') -%}{%- do files.extend(adapter.call_function('tidemark.operate.traces.forget', erased['words'])) -%}{%- endif -%}
    {%- if files -%}
        {%- do tidemark.warn(entity, 'the key stands, whole or as a word, in files that erase leaves alone: ' ~ files | join(', ') ~ '. Remove them, or those lines') -%}
    {%- endif -%}
{%- endmacro -%}

{#- Whether a call for this key is in flight, or was completed. -#}
{%- macro was_erased(opened, erased, state) -%}
    {%- for row in tidemark.query_rows(tidemark._operations_in_state_sql(opened['commits']['states'], opened['cfg']['relation'], 'erase_key', state)) -%}
        {%- for mark in tidemark.marks_of(row) if mark in erased['marks'] or mark == erased['hash'] -%}{{ return(true) }}{%- endfor -%}
    {%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{#- What erase_key() cannot do, and what must be confirmed. -#}
{%- macro check_erase(opened, is_unconfirmed) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- if not cfg['keys'] -%}
        {%- do tidemark.raise_error('configuration', cfg['entity'] ~ ': erase_key needs unique_key, and this entity has none: its rows have no key to be found by') -%}
    {%- elif is_unconfirmed -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ': vacuum: true removes the files of all former versions at once, also those that a running query or a restore needs. '
            ~ 'Say confirm: true if that is meant; nothing was erased'
        ) -%}
    {%- endif -%}
    {%- for relation, commit_id in tidemark.kept_tables(cfg['target']) if '__log_slices_' in relation.identifier -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': a full refresh has kept tables of Parquet, such as ' ~ relation ~ ', and no rows can be taken out of those. '
            ~ 'Drop them first: clean with retention: {superseded: 0 days}. Nothing was erased'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The key as it is looked for: its hashes as SQL, its values as SQL by column, its words as SQL and as they are, its own hash, and what is
    recorded of its hashes. `tidemark erase` gives a key by the name that it is kept under, so that dbt's log does not have it. -#}
{%- macro erased_key(opened, key) -%}
    {%- if key is string and tidemark.can('call_python') -%}{%- set key = adapter.call_function('tidemark.operate.kept.given', key) -%}{%- endif -%}
    {%- set cfg, recorded = opened['cfg'], opened['state']['recorded'] -%}
    {%- set plan = tidemark.recorded_plan(recorded) -%}
    {%- set columns, names, given, values = [], [], {}, {} -%}
    {%- for name in recorded['keys'] -%}
        {%- do columns.extend(plan['columns'] | selectattr('name', 'equalto', name) | list) -%}
        {%- do names.append(name) -%}
    {%- endfor -%}
    {%- set errors = [] -%}
    {%- if key is not mapping -%}
        {%- do errors.append('key must be a mapping of column and value such as {' ~ names[0] ~ ': …}, found: ' ~ key | string | truncate(0, true, '…')) -%}
        {%- do tidemark._raise_key_errors(cfg, errors) -%}
    {%- endif -%}
    {%- for name, value in key.items() -%}
        {%- if name | lower not in names | map('lower') | list -%}
            {%- do errors.append('`' ~ name ~ '` is no column of the key' ~ tidemark._did_you_mean(name, names)) -%}
        {%- endif -%}
        {%- do given.update({name | lower: value}) -%}
    {%- endfor -%}
    {%- for column in columns -%}
        {%- if column['name'] | lower not in given -%}
            {%- do errors.append('`' ~ column['name'] ~ '` is missing: say null if the key has none there') -%}
        {%- else -%}
            {%- do values.update({column['name']: tidemark._key_literal(given[column['name'] | lower])}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do tidemark._raise_key_errors(cfg, errors) -%}

    {%- set row = tidemark.query_rows(tidemark.erased_key_sql(columns, values))[0] -%}
    {%- set typed, texts = {}, [] -%}
    {%- for column in columns -%}
        {%- if row['misfit_' ~ loop.index] -%}
            {%- do errors.append('the value of `' ~ column['name'] ~ '` is no ' ~ column['type']) -%}
        {%- endif -%}
        {#- What is sensitive stands in no table but as a hash, and in its own. -#}
        {%- if not column['sensitive'] -%}
            {%- do typed.update({column['name']: 'cast(' ~ values[column['name']] ~ ' as ' ~ column['type'] ~ ')'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do tidemark._raise_key_errors(cfg, errors) -%}
    {%- if plan['sensitive'] | selectattr('key') | list -%}{%- do tidemark.pepper_check(cfg) -%}{%- endif -%}
    {%- set words = fromjson(row['texts']) -%}
    {%- for text in words -%}{%- do texts.append(tidemark.hidden_expr(tidemark.string_literal(text))) -%}{%- endfor -%}
    {%- set erased = {'names': names, 'values': typed if typed | length == columns | length else {}, 'texts': texts, 'words': words} -%}
    {%- set hashes = [] -%}
    {%- for algorithm in ['md5', 'sha256', 'xxhash64x2'] -%}{%- do hashes.append(row[algorithm]) -%}{%- endfor -%}
    {%- set own = row[recorded['hash']] -%}
    {#- Hashes that came with the rows, or from an older recipe, stand in the log beside the values. -#}
    {%- for row in run_query('select distinct _key_hash from ' ~ opened['relations']['log'] ~ ' where '
        ~ tidemark.erased_rows_expr(erased['values'].keys() | list, {'hashes': [], 'values': erased['values'], 'texts': []})) -%}
        {%- if row[0] not in hashes -%}
            {%- set own = row[0] -%}
            {%- do hashes.append(row[0]) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set literals, marks = [], [] -%}
    {%- for hash in hashes -%}
        {%- do literals.append(tidemark.hidden_expr(tidemark.string_literal(hash))) -%}
        {%- do marks.append(tidemark.erased_mark_expr(literals[-1])) -%}
    {%- endfor -%}
    {%- set marks = fromjson(run_query('select to_json(array(' ~ marks | join(', ') ~ '))')[0][0]) -%}
    {%- do erased.update({'hashes': literals, 'hash': own, 'marks': marks}) -%}
    {{ return(erased) }}
{%- endmacro -%}

{%- macro _raise_key_errors(cfg, errors) -%}
    {%- if errors -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': the key cannot be looked for\n  - ' ~ errors | join('\n  - ')) -%}
    {%- endif -%}
{%- endmacro -%}

{#- A value of YAML as a literal that can be cast. -#}
{%- macro _key_literal(value) -%}
    {%- if value is none -%}{{ return('null') }}{%- endif -%}
    {{ return(tidemark.hidden_expr(tidemark.string_literal(value | lower if value is boolean else value))) }}
{%- endmacro -%}

{#- The name of a literal that Spark puts in when it parses the statement, so that it stands neither in dbt's log nor in a message. -#}
{%- macro hidden_expr(literal) -%}
    {{ return(adapter.hide_literal(literal) if tidemark.can('hide_literals') else literal) }}
{%- endmacro -%}

{#- The tables that may hold a key: the entity's own, those that a full refresh or a rehash left, and derived ones. -#}
{%- macro erasable_tables(opened) -%}
    {%- set tables = [] -%}
    {%- for relation in tidemark.entity_tables(opened['relations']) -%}
        {%- do tables.append({'relation': relation, 'entities': none}) -%}
    {%- endfor -%}
    {%- for relation, commit_id in tidemark.kept_tables(opened['relations']['current']) -%}
        {%- do tables.append({'relation': relation, 'entities': none}) -%}
    {%- endfor -%}
    {%- set sources = [opened['cfg']['relation']] -%}
    {%- set pairs = tidemark.query_rows(tidemark.derived_tables_sql(opened['commits']['states'])) -%}
    {#- Derived of derived: as often as there are tables, so that every chain is followed. -#}
    {%- for _ in pairs -%}
        {%- for pair in pairs if pair['source_relation'] in sources and pair['relation'] not in sources -%}
            {%- do sources.append(pair['relation']) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for name in sources[1:] if tidemark.relation_exists(tidemark.relation_named(name)) -%}
        {%- do tables.append({'relation': tidemark.relation_named(name), 'entities': tidemark.names_in_feed(pairs, sources[0], name)}) -%}
    {%- endfor -%}
    {{ return(tables) }}
{%- endmacro -%}

{#- What `_entity` may be of an entity's rows in a table made from it: see name_in_unit(). The name without schema is not, where each run that
    made the table, or the one that it got the rows from, read another one of that name too. `pairs` as of derived_tables_sql(). -#}
{%- macro names_in_feed(pairs, entity, table) -%}
    {%- set short, names = entity.split('.')[-1], [entity] -%}
    {%- set all = pairs | selectattr('source_relation', 'equalto', entity) | list -%}
    {%- for pair in all | selectattr('relation', 'equalto', table) | list or all -%}
        {%- if pair['was_alone'] and short not in names -%}{%- do names.append(short) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- What is to be done, table by table, current first: those steps that have something to do. -#}
{%- macro erase_steps(opened, erased) -%}
    {%- set steps = [] -%}
    {%- for table in tidemark.erasable_tables(opened) -%}
        {%- set relation = table['relation'] -%}
        {%- set names = tidemark.names_in(relation) -%}
        {%- set condition = tidemark.erased_rows_expr(names, erased) -%}
        {%- set by_name = tidemark.erased_rows_expr(names, tidemark.erased_by_name(erased)) -%}
        {#- A feed of several entities: another one may have the same key. -#}
        {%- if table['entities'] and '_entity' in names -%}
            {%- set of_entities = '_entity in (' ~ tidemark.string_literals(table['entities']) ~ ') and ' -%}
            {%- set condition, by_name = of_entities ~ condition, of_entities ~ by_name -%}
        {%- endif -%}
        {%- if condition == 'false' and table['entities'] -%}
            {%- do tidemark.say(opened['cfg']['entity'], relation ~ ' has neither `_key_hash` nor the key: erase it there yourself') -%}
        {%- elif condition != 'false' -%}
            {%- do steps.append({
                'relation': relation, 'verb': 'remove',
                'count': tidemark.row_count(relation, condition),
                'statement': tidemark.erase_rows_sql(relation, erased, by_name),
            }) -%}
        {%- endif -%}
        {%- if '_moved_from' in names -%}
            {%- do steps.append({
                'relation': relation, 'verb': 'change',
                'count': run_query('select count(*) from ' ~ relation ~ ' where _moved_from in (' ~ erased['hashes'] | join(', ') ~ ') and not ' ~ condition)[0][0] | int,
                'statement': tidemark.forget_moves_sql(relation, erased),
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(steps | selectattr('count') | list) }}
{%- endmacro -%}

{#- Remove every file that the present version of these tables does not need. Rows that deletion vectors only marked are written out of
    their files first. Of Delta that takes what a load on another machine has written and not committed yet, too: nothing may be committed
    to them afterwards that began before. -#}
{%- macro vacuum_at_once(tables, commit_id) -%}
    {%- do run_query('set spark.databricks.delta.retentionDurationCheck.enabled = false') -%}
    {%- for table in tables -%}
        {%- if tidemark.has_deletion_vectors(table['relation']) -%}
            {%- do run_query('reorg table ' ~ table['relation'] ~ ' apply (purge)') -%}
        {%- endif -%}
    {%- endfor -%}
    {#- What began before this is shut out at once, and what began meanwhile as soon as the files of a table are gone. -#}
    {%- for table in tables -%}{%- do tidemark.fence_table(table['relation'], commit_id) -%}{%- endfor -%}
    {%- for table in tables -%}
        {%- do tidemark.vacuum_tables([table['relation']], at_once=true) -%}
        {%- do tidemark.fence_table(table['relation'], commit_id) -%}
        {#- what went says of files which values they had -#}
        {%- if tidemark.lake_format() == 'delta' and tidemark.can('trim_log') -%}{%- do adapter.trim_log(table['relation']) -%}{%- endif -%}
    {%- endfor -%}
    {%- do run_query('reset spark.databricks.delta.retentionDurationCheck.enabled') -%}
{%- endmacro -%}

{#- Stop what has been written for a Delta table and is committed after now. -#}
{%- macro fence_table(relation, commit_id) -%}
    {%- if tidemark.lake_format() == 'delta' -%}
        {%- do tidemark.run_statements(tidemark.for_format('delta', 'fence_log')(relation, commit_id)) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Whether rows of a Delta table can be marked as deleted instead of being written out of their file. -#}
{%- macro has_deletion_vectors(relation) -%}
    {%- if tidemark.lake_format() != 'delta' -%}{{ return(false) }}{%- endif -%}
    {{ return('deletionVectors' in tidemark.query_rows('describe detail ' ~ relation)[0]['tableFeatures'] | string) }}
{%- endmacro -%}
