{#-
    Take what has landed since the last run, up to each DDL event of the table in turn, so that every row is read with
    the columns that held when it was written:

        landed files ─► canonical events ─► staged ─► replayed ─► log ─► current
                                            (staging)
    Returns the sums of the stretches' figures.
-#}
{%- macro load_events(cfg, run, state, relations, commits, compiled_sql) -%}
    {%- set landing = tidemark.land(cfg, run, state, relations, compiled_sql) -%}
    {%- set reorders = tidemark.reorders_ties(cfg, run, state, relations) -%}
    {%- if landing['in_files'] and not landing['files'] and not reorders and not state['first'] and not run['empty'] -%}
        {%- do tidemark.forget_run_views(cfg['target']) -%}
        {{ return(tidemark.no_event_figures()) }}
    {%- endif -%}
    {%- if landing['in_files'] and not landing['files'] and state['first'] and not run['empty'] -%}
        {%- do tidemark.warn(cfg['entity'], 'there is no file at ' ~ cfg['location'] ~ ' yet (location in meta.tidemark)') -%}
    {%- endif -%}
    {#- A list of its own: DDL events of the batch change the recorded one. -#}
    {%- set recorded = none if state['first'] else {'columns': state['recorded']['columns'] | list} -%}
    {%- set batch = tidemark.look_into(cfg, run, state, relations, landing) -%}
    {%- do batch.update({'reorders': reorders}) -%}
    {%- set sums = tidemark.no_event_figures() -%}
    {%- set stretches = tidemark.stretches_of(batch) -%}
    {%- for stretch in stretches -%}
        {%- set plan = tidemark.plan_stretch(cfg, run, state, relations, landing, batch, stretch) -%}
        {%- set load = tidemark.plan_event_load(cfg, plan, run, state, batch, stretch, loop.last, loop.index0) -%}
        {%- set figures = tidemark.stage_events(cfg, plan, run, state, relations, landing, load, stretch) -%}
        {%- do figures.update({'rows_ignored': batch['ignored'] if loop.last else 0}) -%}
        {%- do figures.update({'rows_read': figures['rows_read'] + figures['rows_ignored']}) -%}
        {%- do tidemark.check_event_rejects(cfg, run, load, figures) -%}
        {%- do tidemark.prepare_tables(cfg, plan, state, relations) -%}
        {%- if not run['empty'] -%}
            {%- do tidemark.write_events(cfg, plan, run, state, relations, commits, landing, load, figures) -%}
            {%- do tidemark.tell_rejects(cfg, figures, ['event', 'events'], relations['rejects'], '_commit_id = ' ~ load['commit_id']) -%}
            {%- do tidemark.remember_commit(state, plan, load) -%}
            {%- if loop.last -%}
                {%- do sums.update({'notes': tidemark.tell_new_columns(cfg, plan, recorded)}) -%}
            {%- endif -%}
        {%- endif -%}
        {%- do tidemark.add_figures(sums, figures) -%}
    {%- endfor -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {{ return(sums) }}
{%- endmacro -%}


{#- Where events come from: views over the landed files, a table or the model's own SELECT, read once and cached. -#}
{%- macro land(cfg, run, state, relations, compiled_sql) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- set arrived, extract, lines = tidemark.run_view(cfg['target'], 'arrived'), tidemark.run_view(cfg['target'], 'extract'), tidemark.run_view(cfg['target'], 'lines') -%}
    {%- set files = [] -%}
    {%- set location = cfg['location'] or '' -%}
    {%- set in_files = tidemark.lands_in_files(cfg) -%}
    {%- if in_files -%}
        {%- set files = tidemark.files_to_read(cfg, run, state, relations) -%}
        {%- if files -%}
            {%- set format = 'parquet' if files[0]['_file'].endswith('.parquet') else 'text' -%}
            {%- do run_query(tidemark.event_lines_view_sql(lines, location, files, format)) -%}
            {%- if not run['empty'] -%}
                {%- do run_query('cache lazy table ' ~ lines) -%}
            {%- endif -%}
            {%- do run_query(tidemark.landed_lines_view_sql(extract, lines, files)) -%}
        {%- else -%}
            {%- do run_query('create or replace temporary view ' ~ extract
                ~ " as select cast(null as string) as value, cast(null as string) as _file, cast(null as bigint) as _landing_num where false") -%}
        {%- endif -%}
    {%- elif location -%}
        {%- if '.' not in location and run_query('show tables like ' ~ tidemark.string_literal(location)) | length == 0 -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': there is no folder and no table ' ~ location ~ ' (location in meta.tidemark); of a folder that is still to come, write ./' ~ location
            ) -%}
        {%- endif -%}
        {%- do run_query('create or replace temporary view ' ~ extract ~ ' as select * from ' ~ location) -%}
    {%- endif -%}

    {%- set names = tidemark.describe_query(compiled_sql) | map(attribute='name') | map('lower') | list -%}
    {%- set number = 'cast(' ~ ('_sequence_num' if '_sequence_num' in names else 'null') ~ ' as bigint) as _landing_num' -%}
    {%- do run_query('create or replace temporary view ' ~ arrived ~ ' as\nselect *'
        ~ ('' if '_landing_num' in names else ', ' ~ number) ~ ' from (\n' ~ compiled_sql ~ '\n)') -%}
    {%- if not in_files and not run['empty'] -%}
        {%- do run_query('cache lazy table ' ~ arrived) -%}
    {%- endif -%}
    {%- set columns = tidemark.describe_query('select * from ' ~ arrived) -%}
    {%- set is_text = 'value' in names and (cfg['format'] == 'debezium' or ('_operation' not in names and not cfg['keys'] | map('lower') | select('in', names) | list)) -%}
    {%- if cfg['format'] == 'debezium' and not is_text -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': format: debezium needs the JSON text of the events in a column `value`, found columns: ' ~ names | join(', ')
        ) -%}
    {%- endif -%}
    {%- if not in_files and not cfg['sequence_by'] and '_sequence_num' not in names and '_landing_num' not in names -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': rows of a table have no order: the source needs `_sequence_num`, or set sequence_by to the columns that order the events of a key'
        ) -%}
    {%- endif -%}
    {{ return({
        'files': files,
        'in_files': in_files,
        'arrived': arrived,
        'events': tidemark.run_view(cfg['target'], 'events'),
        'columns': none if is_text else columns,
    }) }}
{%- endmacro -%}


{#- Whether events come as files, of which each is read once. -#}
{%- macro lands_in_files(cfg) -%}
    {%- set location = cfg['location'] or '' -%}
    {{ return('/' in location or '*' in location or tidemark.is_folder(location)) }}
{%- endmacro -%}


{#- Whether a name without `/` is a folder rather than a table (adapter `tidemark` only; elsewhere write `./name`). -#}
{%- macro is_folder(location) -%}
    {{ return(adapter.type() == 'tidemark' and location and '.' not in location and adapter.list_files(location) | length > 0) }}
{%- endmacro -%}


{#- Files of the landing folder that no commit has read to the end, each with the number that orders its lines. -#}
{%- macro files_to_read(cfg, run, state, relations) -%}
    {%- if adapter.type() == 'tidemark' and not adapter.list_files(cfg['location']) -%}{{ return([]) }}{%- endif -%}
    {%- set landed = tidemark.as_it_is(cfg, relations['landed'], 'landed') if not state['first'] and tidemark.relation_exists(relations['landed']) else none -%}
    {%- set files = tidemark.query_rows(tidemark.event_files_sql(cfg['location'], landed, state['undone'])) -%}
    {%- set last = namespace(number=files | map(attribute='_last_number') | first | default(-1) | int) -%}
    {%- for file in files if file['_file_number'] is none -%}
        {%- set last.number = last.number + 1 -%}
        {%- do file.update({'_file_number': last.number}) -%}
    {%- endfor -%}
    {{ return(files) }}
{%- endmacro -%}


{#- What the batch holds beside rows: counts, schemas, names of columns, DDL events that were not applied yet. -#}
{%- macro look_into(cfg, run, state, relations, landing) -%}
    {%- set source = state['recorded']['source'] if state['recorded'] and not state['first'] else {} -%}
    {%- set tables = source.get('tables') or ([cfg['table']] if cfg['table'] else []) -%}
    {%- set batch = {
        'tables': tables, 'ignored': 0, 'names': [], 'schemas': {}, 'has_schemaless': false, 'first_nums': {}, 'is_empty': true,
        'statements': [], 'source_columns': source.get('columns'), 'refused': source.get('refused', []),
        'renames': {},
        'by_content': source.get('by_content', state['first'] and cfg['sequence_by'] | length > 0),
        'identifying': tidemark.identifying_names(cfg, landing['columns'], none if state['first'] else state['recorded']),
    } -%}
    {%- do tidemark.make_events_view(cfg, landing, batch) -%}
    {%- if run['empty'] -%}{{ return(batch) }}{%- endif -%}
    {%- set figures = tidemark.query_rows(tidemark.event_figures_sql(landing['events'])) -%}
    {%- set has_ddl = figures | selectattr('_kind', 'equalto', 'ddl') | list | length > 0 -%}
    {%- if has_ddl -%}
        {%- do batch.update({'statements': tidemark.statements_of(cfg, state, relations, landing, batch)}) -%}
        {%- if batch['tables'] != tables -%}
            {#- A rename within the batch: rows under the new name are ours too. -#}
            {%- do tidemark.make_events_view(cfg, landing, batch) -%}
            {%- set figures = tidemark.query_rows(tidemark.event_figures_sql(landing['events'])) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set found_tables = [] -%}
    {%- for row in figures -%}
        {%- if row['_kind'] in ['row', 'truncate', 'unreadable'] -%}
            {%- do batch.update({'is_empty': false}) -%}
        {%- else -%}
            {%- do batch.update({'ignored': batch['ignored'] + row['_row_count'] | int}) -%}
        {%- endif -%}
        {%- if row['_kind'] in ['row', 'truncate'] and row['_table_name'] and row['_table_name'] not in found_tables -%}
            {%- do found_tables.append(row['_table_name']) -%}
        {%- endif -%}
        {%- if row['_kind'] == 'row' -%}
            {%- for shape in fromjson(row['_after_shapes'] or '[]') + fromjson(row['_before_shapes'] or '[]') -%}
                {%- for name in shape if name not in batch['names'] -%}
                    {%- do batch['names'].append(name) -%}
                {%- endfor -%}
            {%- endfor -%}
            {%- if row['_schema_id'] -%}
                {%- do batch['schemas'].update({row['_schema_id']: tidemark.connect_columns(tidemark._row_fields(row['_schema_text']))}) -%}
                {%- do batch['first_nums'].update({row['_schema_id']: row['_first_num']}) -%}
            {%- else -%}
                {%- do batch.update({'has_schemaless': true}) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if found_tables | length > 1 and found_tables | length > batch['tables'] | length -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': the events are of several tables (' ~ found_tables | sort | join(', ') ~ '): say with meta.tidemark.table which one this is'
        ) -%}
    {%- endif -%}
    {{ return(batch) }}
{%- endmacro -%}


{#- The fields of a row in an inline schema: those of the after image. -#}
{%- macro _row_fields(schema_text) -%}
    {%- for field in fromjson(schema_text)['fields'] if field['field'] == 'after' -%}
        {{ return(field['fields']) }}
    {%- endfor -%}
    {{ return([]) }}
{%- endmacro -%}


{%- macro make_events_view(cfg, landing, batch) -%}
    {%- if cfg['format'] == 'debezium' -%}
        {%- set sql = tidemark.debezium_events_sql(cfg, batch['tables'], landing['arrived']) -%}
    {%- else -%}
        {%- set sql = tidemark.canonical_events_sql(cfg, batch['tables'], landing['arrived'], landing['columns'], batch['by_content'], batch['identifying']) -%}
    {%- endif -%}
    {%- do run_query('create or replace temporary view ' ~ landing['events'] ~ ' as\n' ~ sql) -%}
{%- endmacro -%}


{#- The batch cut at its DDL events: {from, to, statement}; the landing numbers lie between, none is open. -#}
{%- macro stretches_of(batch) -%}
    {%- set stretches = [] -%}
    {%- set edge = namespace(number=none, statement=none) -%}
    {%- for statement in batch['statements'] if statement['cuts'] -%}
        {%- do stretches.append({'from': edge.number, 'to': statement['landing_num'], 'statement': edge.statement}) -%}
        {%- set edge.number, edge.statement = statement['landing_num'], statement -%}
    {%- endfor -%}
    {%- do stretches.append({'from': edge.number, 'to': none, 'statement': edge.statement}) -%}
    {{ return(stretches) }}
{%- endmacro -%}


{#- Columns of the target for one stretch, after its DDL event was brought to the tables. -#}
{%- macro plan_stretch(cfg, run, state, relations, landing, batch, stretch) -%}
    {%- set recorded = none if state['first'] else state['recorded'] -%}
    {%- if stretch['statement'] -%}
        {%- set recorded = tidemark.apply_statement(cfg, state, relations, recorded, batch, stretch['statement']) -%}
        {%- do state.update({'log_version': none}) -%}
    {%- endif -%}
    {%- for statement in batch['statements'] if not statement['cuts'] and (not stretch['from'] or statement['landing_num'] > stretch['from'])
        and (not stretch['to'] or statement['landing_num'] < stretch['to']) -%}
        {%- do batch.update({'source_columns': statement['columns']}) -%}
    {%- endfor -%}
    {%- set arrived = none -%}
    {%- if landing['columns'] is not none -%}
        {%- set arrived = {} -%}
        {%- for column in landing['columns'] -%}
            {%- do arrived.update({column['name'] | lower: column}) -%}
        {%- endfor -%}
        {%- set meta = tidemark.event_columns() | map(attribute='name') | list + ['_landing_num', '_file'] -%}
        {%- for column in landing['columns'] if column['name'] | lower not in meta and not column['name'].startswith('_before_') and column['name'] not in batch['names'] -%}
            {%- do batch['names'].append(column['name']) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set types = tidemark.declared_types(cfg) -%}
    {%- set found = {
        'names': batch['names'], 'schemas': batch['schemas'], 'ddl': batch['source_columns'], 'arrived': arrived,
        'renames': batch['renames'], 'refused': batch['refused'] + tidemark.names_to_come(batch, stretch),
        'has_schemaless': batch['has_schemaless'],
    } -%}
    {%- set typed_names = types.keys() | list -%}
    {%- if recorded -%}{%- set typed_names = typed_names + recorded['columns'] | map(attribute='name') | map('lower') | list -%}{%- endif -%}
    {%- do found.update({'inferred': tidemark.inferred_types(landing, batch, typed_names)}) -%}
    {%- set plan = tidemark.event_plan(cfg, found, types, recorded) -%}
    {%- do tidemark.check_new_columns(cfg, plan, recorded) -%}
    {%- if plan['sensitive'] -%}
        {%- do plan['recorded'].update({'pepper': tidemark.pepper_check(cfg)}) -%}
    {%- endif -%}
    {%- if recorded -%}
        {%- do tidemark.raise_drift(cfg, tidemark.config_drift(cfg, plan, recorded)) -%}
    {%- endif -%}
    {%- do plan['recorded'].update({'source': {
        'tables': batch['tables'], 'columns': batch['source_columns'], 'refused': batch['refused'], 'by_content': batch['by_content'],
        'identifying': batch['identifying'],
        'has_moves': recorded['source'].get('has_moves', false) if recorded else false,
        'has_partial_moves': recorded['source'].get('has_partial_moves', false) if recorded else false,
    }}) -%}
    {%- if not plan['columns'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': no events of ' ~ (cfg['table'] or 'the table') ~ ' have landed at ' ~ (cfg['location'] or 'the source')
            ~ ' yet, and the YAML declares no columns to make the tables with'
        ) -%}
    {%- endif -%}
    {{ return(plan) }}
{%- endmacro -%}


{#- Names that a later DDL event of the batch brings. -#}
{%- macro names_to_come(batch, stretch) -%}
    {%- set names = [] -%}
    {%- for statement in batch['statements'] if stretch['to'] and statement['cuts'] and statement['landing_num'] >= stretch['to'] -%}
        {%- for change in statement['changes'] if change['kind'] in ['add_column', 'rename_column'] -%}
            {%- do names.append(change['name']) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}


{#- Types of columns that neither YAML nor a schema tells, from the values of the batch. -#}
{%- macro inferred_types(landing, batch, typed_names) -%}
    {%- set told = typed_names | list -%}
    {%- for columns in batch['schemas'].values() -%}
        {%- do told.extend(columns | map(attribute='name') | map('lower') | list) -%}
    {%- endfor -%}
    {%- do told.extend((batch['source_columns'] or []) | map(attribute='name') | map('lower') | list) -%}
    {%- set untold = batch['names'] | map('lower') | reject('in', told) | list -%}
    {%- if not untold or landing['columns'] is not none or batch['is_empty'] -%}{{ return({}) }}{%- endif -%}
    {%- set text = run_query(tidemark.inferred_schema_sql(landing['events']))[0][0] -%}
    {%- set inferred = {} -%}
    {%- for field in tidemark._struct_fields(modules.re.sub('^(OBJECT|STRUCT)<', '', text)[:-1]) -%}
        {%- set base = field['type'].split('<')[0].split('(')[0] | lower -%}
        {%- do inferred.update({field['name']: {
            'bigint': 'bigint', 'double': 'double', 'decimal': 'double', 'float': 'double', 'boolean': 'boolean',
        }.get(base, 'string')}) -%}
    {%- endfor -%}
    {{ return(inferred) }}
{%- endmacro -%}


{#- A column that the source has got, by the policy for added columns. -#}
{%- macro check_new_columns(cfg, plan, recorded) -%}
    {%- if recorded and plan['added'] and cfg['ddl']['add_column'] == 'fail' -%}
        {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
        {%- for column in plan['added'] if column['name'] | lower not in declared -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': the source has a new column `' ~ column['name'] ~ '`, and ddl.add_column is fail. '
                ~ 'Declare the column in the YAML, or set ddl.add_column to apply or ignore'
            ) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro raise_drift(cfg, drift) -%}
    {%- if drift -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': the configuration is not the one its log was made with; nothing was written\n  - '
            ~ drift | join('\n  - ') ~ '\nTake the change back, or start a new log from the events that are still there with --full-refresh (the old one is kept)'
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{%- macro no_event_figures() -%}
    {%- set figures = {'rejects': []} -%}
    {%- for name in ['rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted', 'rows_unchanged', 'rows_not_supplied',
                     'rows_rejected', 'rows_duplicate', 'rows_ignored', 'rows_tied', 'rows_logged', 'rows_superseded'] -%}
        {%- do figures.update({name: 0}) -%}
    {%- endfor -%}
    {{ return(figures) }}
{%- endmacro -%}


{%- macro add_figures(sums, figures) -%}
    {%- for name, value in figures.items() if name.startswith('rows_') -%}
        {%- do sums.update({name: sums[name] + value}) -%}
    {%- endfor -%}
{%- endmacro -%}
