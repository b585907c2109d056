{#- Take the enriched events that have landed as one batch; its figures, none if nothing has landed. -#}
{%- macro load_enriched(cfg, run, state, relations, commits, compiled_sql) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {%- set landing = tidemark.land_enriched(cfg, run, state, relations, compiled_sql) -%}
    {%- if run['empty'] or (landing['in_files'] and not landing['files']) -%}
        {%- if state['first'] and not run['empty'] -%}
            {%- do tidemark.warn(cfg['entity'], 'there is no file at ' ~ cfg['location'] ~ ' yet (location in meta.tidemark)') -%}
        {%- endif -%}
        {%- do tidemark.prepare_atomic(cfg, run, state, relations) -%}
        {%- do tidemark.forget_run_views(cfg['target']) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set commit_id = tidemark.next_commit_id(state['last_id']) -%}
    {%- set events = tidemark.run_view(cfg['target'], 'events') -%}
    {%- set source = tidemark.enriched_rows_sql(landing['arrived'], landing['columns']) if cfg['is_rows'] else tidemark.enriched_events_sql(landing['arrived']) -%}
    {%- do run_query('create or replace temporary view ' ~ events ~ ' as\n' ~ source) -%}
    {%- set keys = tidemark.make_slice(cfg['target'], commit_id, 'keys', tidemark.event_keys_sql(cfg, events)) -%}
    {%- set figures = tidemark.query_rows(tidemark.batch_figures_sql(keys))[0] -%}
    {%- do tidemark.check_rejected(cfg, figures, keys, ['line', 'lines'], 'Mend the files') -%}
    {%- do tidemark.prepare_atomic(cfg, run, state, relations) -%}
    {%- do tidemark.write_batch(cfg, run, state, relations, commits, landing, figures, commit_id, events, keys) -%}
    {%- do tidemark.tell_rejects(cfg, figures, ['line', 'lines'], relations['rejects'], '_commit_id = ' ~ commit_id) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {{ return(figures) }}
{%- endmacro -%}


{#-
    Where the events come from: lines of files that were not read yet, or rows with the canonical columns. Either is
    cached, because `_row` numbers them within one read.
-#}
{%- macro land_enriched(cfg, run, state, relations, compiled_sql) -%}
    {%- set arrived, extract, lines = tidemark.run_view(cfg['target'], 'arrived'), tidemark.run_view(cfg['target'], 'extract'), tidemark.run_view(cfg['target'], 'lines') -%}
    {%- set files = [] -%}
    {%- if cfg['location'] -%}
        {%- set dated = '{' in cfg['location'] -%}
        {%- if dated and not run['business_date'] and not run['empty'] -%}
            {%- do tidemark.raise_error('usage',
                cfg['entity'] ~ ': which business date? Give it with --vars \'{business_date: "2026-03-04"}\''
            ) -%}
        {%- endif -%}
        {%- set location = tidemark.extract_path(cfg['location'], run['business_date']) -%}
        {%- set files = [] if run['empty'] else tidemark.enriched_files(cfg, location, state, relations, dated) -%}
        {%- if files -%}
            {%- do run_query(tidemark.event_lines_view_sql(lines, location, files, 'text')) -%}
            {%- do run_query('cache lazy table ' ~ lines) -%}
            {%- do run_query('create or replace temporary view ' ~ extract ~ ' as select value, _file, _row from ' ~ lines) -%}
        {%- else -%}
            {%- do run_query('create or replace temporary view ' ~ extract
                ~ ' as select cast(null as string) as value, cast(null as string) as _file, cast(null as bigint) as _row where false') -%}
        {%- endif -%}
    {%- endif -%}
    {%- set columns = tidemark.describe_query(compiled_sql) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- set is_lines = 'value' in names and 'event_id' not in names -%}
    {%- if not is_lines -%}
        {%- for name in ['event_id', 'event_fingerprint', 'collector_tstamp'] if name not in names -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': the body must yield lines of enriched events in a column `value`, or rows with the canonical columns; `' ~ name ~ '` is missing'
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not cfg['location'] and 'natural_cross_batch' not in cfg['deduplicate'] -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': without location a run takes all that the body yields, and only natural_cross_batch keeps what was stored from being stored again: add it to deduplicate'
        ) -%}
    {%- endif -%}
    {%- do cfg.update({'is_rows': not is_lines}) -%}
    {%- set numbered = '_row' in names -%}
    {%- do run_query('create or replace temporary view ' ~ arrived ~ ' as\nselect *'
        ~ ('' if numbered else ', monotonically_increasing_id() as _row') ~ ' from (\n' ~ compiled_sql ~ '\n)') -%}
    {%- if not numbered and not run['empty'] -%}
        {%- do run_query('cache lazy table ' ~ arrived) -%}
    {%- endif -%}
    {{ return({'files': files, 'in_files': cfg['location'] is not none, 'arrived': arrived, 'columns': columns}) }}
{%- endmacro -%}


{#- The files to read; of a business date there must be one, unless all of it was read before. -#}
{%- macro enriched_files(cfg, location, state, relations, dated) -%}
    {%- set wanted = {} -%}
    {%- do wanted.update(cfg) -%}
    {%- do wanted.update({'location': location}) -%}
    {%- set files = tidemark.files_to_read(wanted, none, state, relations) -%}
    {%- if not files and dated and adapter.type() == 'tidemark' and not adapter.list_files(location) -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': there is no file at ' ~ location) -%}
    {%- endif -%}
    {{ return(files) }}
{%- endmacro -%}


{#- Make the tables where they are missing; a full refresh first sets the old ones aside, under the number of the last commit. -#}
{%- macro prepare_atomic(cfg, run, state, relations) -%}
    {%- if state['exists'] and run['full_refresh'] -%}
        {%- for name in ['entities', 'rejects', 'landed'] + ([] if cfg['manifest'] else ['manifest']) + ['current'] if tidemark.relation_exists(relations[name]) -%}
            {%- set old = tidemark.old_relation(relations[name], state['last_id'] or 0) -%}
            {%- if tidemark.relation_exists(old) -%}
                {%- do run_query('drop table ' ~ relations[name]) -%}
            {%- else -%}
                {%- do run_query('alter table ' ~ relations[name] ~ ' rename to ' ~ old) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not state['first'] -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.clear_debris(relations.values() | list) -%}
    {%- set statements = [] -%}
    {%- for name, columns, options in [
        ('rejects', tidemark.rejected_line_columns(), {}),
        ('landed', tidemark.landed_columns(), {}),
        ('entities', tidemark.entity_columns(), {'partition_by': ['vendor', 'name', 'model']}),
        ('manifest', tidemark.manifest_columns(), {}),
        ('current', tidemark.atomic_columns(), tidemark.atomic_options(cfg)),
    ] if name != 'manifest' or cfg['looks_across'] -%}
        {%- do statements.extend(tidemark.delta__create_table(relations[name], columns, options)) -%}
    {%- endfor -%}
    {%- do tidemark.run_statements(statements) -%}
{%- endmacro -%}


{#- What atomic events are made with: statistics of the columns that people filter by, of 132. -#}
{%- macro atomic_options(cfg) -%}
    {%- set properties = {'delta.dataSkippingStatsColumns': 'app_id,etl_tstamp,collector_tstamp,dvce_created_tstamp,event,event_id,derived_tstamp,event_name,_commit_id'} -%}
    {%- do properties.update(cfg['table_properties']) -%}
    {{ return({
        'partition_by': cfg['partition_by'], 'cluster_by': cfg['cluster_by'], 'location_root': cfg['location_root'],
        'properties': properties, 'description': cfg['description'],
    }) }}
{%- endmacro -%}


{#- Write a batch: claims, rejects and entities first, which count once its events are stored. -#}
{%- macro write_batch(cfg, run, state, relations, commits, landing, figures, commit_id, events, keys) -%}
    {%- set load = {
        'commit_id': commit_id,
        'kind': 'full_refresh' if run['full_refresh'] and state['exists'] else 'load',
        'business_date': run['business_date'], 'forward': true, 'is_last': true,
        'etl_micros': figures['etl_micros'], 'first_etl_micros': figures['first_etl_micros'],
    } -%}
    {%- set plan = {'recorded': {'flow': 'atomic', 'fingerprint_ignore': cfg['fingerprint_ignore'], 'deduplicate': cfg['deduplicate'], 'file_format': cfg['file_format']}} -%}
    {%- set commit = tidemark.new_commit(cfg, plan, run, commits, load) -%}
    {%- set numbers = {
        'rows_read': figures['rows_read'], 'rows_rejected': figures['rows_rejected'],
        'current_version_before': tidemark.table_version('delta', relations['current']),
    } -%}
    {%- do tidemark.record_commit(commits, commit, 'inflight', numbers) -%}

    {%- set has_events = figures['etl_micros'] is not none -%}
    {%- set manifest = relations['manifest'] if cfg['looks_across'] and has_events else none -%}
    {%- if manifest -%}
        {%- do run_query(tidemark.claim_events_sql(cfg, manifest, keys, load)) -%}
    {%- endif -%}
    {%- set decided = tidemark.make_slice(cfg['target'], commit_id, 'decided', tidemark.decided_events_sql(cfg, keys, manifest, load)) -%}
    {%- do tidemark.count_kinds(figures, run_query('select _kind, count(*) from ' ~ decided ~ ' group by _kind')) -%}
    {%- do numbers.update(figures) -%}
    {%- for name in ['etl_micros', 'first_etl_micros'] -%}
        {%- do numbers.pop(name) -%}
    {%- endfor -%}
    {%- do numbers.update({'etl_tstamp': tidemark.utc_text_of_micros(load['etl_micros']) if has_events else none}) -%}
    {#- Should this run die after its events are stored, the next one completes the commit with these numbers. -#}
    {%- do tidemark.record_commit(commits, commit, 'inflight', numbers) -%}

    {%- if figures['rows_rejected'] -%}
        {%- do run_query(tidemark.insert_sql(relations['rejects'], tidemark.rejected_line_columns(),
            'select *, ' ~ load['commit_id'] ~ ' as _commit_id from ('
            ~ tidemark.rejected_lines_sql(landing['arrived'], keys, tidemark.raw_payload_expr(landing['columns'])) ~ ')')) -%}
    {%- endif -%}
    {%- do tidemark.write_landed(cfg, relations, landing, load) -%}
    {%- if figures['rows_inserted'] -%}
        {%- do run_query(tidemark.insert_sql(relations['entities'], tidemark.entity_columns(), tidemark.entity_rows_sql(cfg, events, decided, load))) -%}
        {%- do run_query(tidemark.insert_sql(relations['current'], tidemark.atomic_columns(), tidemark.atomic_rows_sql(cfg, events, decided, load))) -%}
        {%- set written = run_query('select count(*) from ' ~ relations['current'] ~ ' where _commit_id = ' ~ load['commit_id']) -%}
        {%- do tidemark.check_written(cfg, relations, figures, written[0][0] | int) -%}
    {%- endif -%}
    {%- do numbers.update({'current_version_after': tidemark.table_version('delta', relations['current'])}) -%}
    {%- do tidemark.record_commit(commits, commit, 'completed', numbers) -%}
{%- endmacro -%}


{#- Numbers of a batch by what became of its lines: read = inserted + duplicate + rejected. -#}
{%- macro count_kinds(figures, rows) -%}
    {%- set counts = {} -%}
    {%- for row in rows -%}
        {%- do counts.update({row[0]: row[1] | int}) -%}
    {%- endfor -%}
    {%- for step in tidemark.deduplication_steps() -%}
        {%- do figures.update({'rows_' ~ step: counts.get(step, 0)}) -%}
    {%- endfor -%}
    {%- set dropped = figures['rows_natural_in_batch'] + figures['rows_natural_cross_batch'] -%}
    {%- do figures.update({
        'rows_duplicate': dropped,
        'rows_inserted': figures['rows_read'] - figures['rows_rejected'] - dropped,
    }) -%}
{%- endmacro -%}


{#- As many events were stored as were counted; none, if another run has taken this one for dead. -#}
{%- macro check_written(cfg, relations, figures, written) -%}
    {%- if written == 0 -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': another run has taken this one for dead, so it stored nothing. Run it again'
        ) -%}
    {%- elif written != figures['rows_inserted'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ figures['rows_inserted'] ~ ' events were counted but ' ~ written ~ ' were stored in ' ~ relations['current']
            ~ '; the files changed while they were read. Go back with dbt run-operation rollback, and run again'
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The line that dbt prints about a batch. -#}
{%- macro atomic_summary(figures) -%}
    {%- if not figures -%}{{ return('nothing new') }}{%- endif -%}
    {%- set parts = ['stored ' ~ figures['rows_inserted']] -%}
    {%- for label, name in [('duplicate', 'rows_duplicate'), ('rejected', 'rows_rejected')] if figures[name] -%}
        {%- do parts.append(label ~ ' ' ~ figures[name]) -%}
    {%- endfor -%}
    {%- set renamed = figures.get('rows_synthetic_in_batch', 0) + figures.get('rows_synthetic_cross_batch', 0) -%}
    {{ return((parts + (['renamed ' ~ renamed] if renamed else [])) | join(', ')) }}
{%- endmacro -%}
