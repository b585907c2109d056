{#- What the commit of one stretch is made with. -#}
{%- macro plan_event_load(cfg, plan, run, state, batch, stretch, is_last, position) -%}
    {%- set today = modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%d') -%}
    {%- set commit_id = tidemark.next_commit_id(state['last_id']) -%}
    {%- if position == 0 -%}
        {%- do batch.update({'batch_id': commit_id}) -%}
    {%- endif -%}
    {%- set business_date = run['business_date'] or today -%}
    {{ return({
        'commit_id': commit_id,
        'batch_id': batch['batch_id'],
        'kind': 'full_refresh' if run['full_refresh'] and state['recorded'] and position == 0 else 'load',
        'business_date': business_date,
        'last_commit_id': 0 if state['first'] else state['last_commit_id'],
        'last_date': business_date,
        'last_date_commit_id': commit_id,
        'rebuild': false,
        'reorders': batch['reorders'] and position == 0,
        'is_last': is_last,
        'statements': tidemark.statements_within(cfg, plan, state, batch, stretch),
    }) }}
{%- endmacro -%}


{#- Write one stretch: what goes beside the log first, then the log in one atomic commit, then current. -#}
{%- macro write_events(cfg, plan, run, state, relations, commits, landing, load, figures) -%}
    {%- set targets = tidemark.write_relations(state, relations) -%}
    {%- set staged = load['staged'] -%}
    {%- set has_files = landing['files'] | length > 0 -%}
    {%- if not has_files and not figures['rows_read'] and not load['statements'] and not load['reorders'] and load['kind'] == 'load' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set commit = tidemark.new_commit(cfg, plan, run, commits, load) -%}
    {%- set rows = tidemark.replay(cfg, plan, state, relations, staged, load, figures) -%}
    {%- do load.update({'last_sequence_num': figures['last_sequence_num'] if state['first'] or state['last_sequence_num'] is none
        else [figures['last_sequence_num'] or 0, state['last_sequence_num']] | max}) -%}
    {%- do load.update({'log_version': tidemark.version_to_append(cfg, state, targets)}) -%}
    {%- set numbers = tidemark.versions_before(cfg, targets, load) -%}
    {%- do numbers.update({
        'batch_id': load['batch_id'],
        'first_sequence_num': figures['first_sequence_num'],
        'last_sequence_num': load['last_sequence_num'],
    }) -%}
    {%- if has_files -%}
        {%- do numbers.update({'last_file': landing['files'][-1]['_file']}) -%}
    {%- endif -%}
    {%- for name, value in figures.items() if name.startswith('rows_') -%}
        {%- do numbers.update({name: value}) -%}
    {%- endfor -%}
    {%- if not figures['rows_logged'] and not figures['rows_superseded'] and not figures['rows_rejected'] and load['kind'] == 'load' and not state['first'] -%}
        {#- Nothing but events that are known already, or that are no change: only the files are remembered. -#}
        {%- if has_files or load['reorders'] -%}
            {%- do commit.update({'kind': 'repeat'}) -%}
            {%- do tidemark.write_landed(cfg, targets, landing, load) -%}
            {%- do tidemark.record_commit(commits, commit, 'completed', numbers) -%}
        {%- endif -%}
        {%- if load.get('staged_changes') -%}
            {%- do adapter.discard_rows(load['staged_changes']) -%}
        {%- endif -%}
        {%- do tidemark.drop_slices(cfg['target']) -%}
        {{ return(none) }}
    {%- endif -%}

    {%- do tidemark.record_commit(commits, commit, 'inflight', numbers) -%}
    {%- do tidemark.write_beside_events(cfg, plan, targets, landing, load, figures, rows, staged) -%}
    {%- if figures['rows_logged'] or figures['rows_superseded'] -%}
        {%- do state.update({'log_version': tidemark.append_to_log(cfg, plan, targets, load, figures, rows) or none}) -%}
    {%- endif -%}
    {%- do tidemark.complete_commit(cfg, plan, relations, commits, commit, load, numbers, figures) -%}
    {%- do tidemark.drop_slices(cfg['target']) -%}
{%- endmacro -%}


{#-
    Derive what the stretch adds to the log: straight into files of the log that no commit names yet, or, where the log
    is corrected too, into a table of its own, as it is read several times while tables change.
-#}
{%- macro replay(cfg, plan, state, relations, staged, load, figures) -%}
    {%- set existing, table_events, replayed = tidemark.run_view(cfg['target'], 'existing'), tidemark.run_view(cfg['target'], 'table_events'), tidemark.run_view(cfg['target'], 'replayed') -%}
    {%- do run_query('drop view if exists ' ~ replayed) -%}
    {%- set existing_sql = tidemark.no_existing_events_sql(cfg, plan, load) if state['first']
        else tidemark.existing_events_sql(cfg, plan, load['now'], staged, load) -%}
    {%- do run_query('create or replace temporary view ' ~ existing ~ ' as\n' ~ existing_sql) -%}
    {%- set rows_sql = [] -%}
    {%- if load['table_events'] -%}
        {%- do run_query('create or replace temporary view ' ~ table_events ~ ' as\n' ~ tidemark.table_events_sql(cfg, plan, load['now'], staged, load)) -%}
        {%- do rows_sql.append(tidemark.logged_statements_sql(cfg, plan, table_events, load)) -%}
    {%- endif -%}
    {%- set sources = {'staged': staged, 'existing': existing, 'table_events': table_events, 'moved': none} -%}
    {%- if load['has_partial_moves'] -%}
        {%- do sources.update({'moved': tidemark.moved_values(cfg, plan, sources, load)}) -%}
    {%- endif -%}
    {%- set generate = tidemark.replayed_keys_sql if plan['keyed'] else tidemark.replayed_copies_sql -%}
    {%- do rows_sql.append('select * from (\n' ~ generate(cfg, plan, sources, load) ~ '\n)') -%}
    {%- do run_query('create or replace temporary view ' ~ replayed ~ ' as\n' ~ rows_sql | join('\nunion all\n')) -%}
    {%- if plan['sensitive'] -%}
        {%- do run_query('cache lazy table ' ~ replayed) -%}
    {%- endif -%}
    {%- set names = tidemark.column_list_expr(tidemark.slice_columns(plan)) -%}
    {%- if tidemark.can_stage_changes(plan, state, load) -%}
        {%- set written = tidemark.staged_log_rows(plan, relations, load, replayed, state['log_version'], tidemark.figures_of_events()) -%}
        {%- do tidemark.check_staged(cfg, written, written.figures['rows_logged']) -%}
        {%- do figures.update(written.figures) -%}
        {%- do load.update({'staged_changes': written}) -%}
        {{ return({'rows': replayed, 'slice': none}) }}
    {%- endif -%}
    {%- set slice = tidemark.make_slice(cfg['target'], load['commit_id'], 'log', 'select\n    ' ~ names ~ ', _supersedes\nfrom ' ~ replayed) -%}
    {%- set counts = tidemark.query_rows(
        'select _operation, _supersedes is not null as is_mark, count(*) as row_count from ' ~ slice ~ ' group by all'
    ) -%}
    {%- set names = {'I': 'rows_inserted', 'U': 'rows_updated', 'D': 'rows_deleted', 'N': 'rows_unchanged'} -%}
    {%- for row in counts -%}
        {%- if row['is_mark'] -%}
            {%- do figures.update({'rows_superseded': figures['rows_superseded'] + row['row_count'] | int}) -%}
        {%- else -%}
            {%- do figures.update({'rows_logged': figures['rows_logged'] + row['row_count'] | int}) -%}
            {%- if row['_operation'] in names -%}
                {%- do figures.update({names[row['_operation']]: row['row_count'] | int}) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'rows': replayed, 'slice': slice}) }}
{%- endmacro -%}


{#-
    The values that rows had under their old key, for moves that did not bring every column. A chain of moves is settled
    step by step, each in a table of its own, until nothing changes.
-#}
{%- macro moved_values(cfg, plan, sources, load) -%}
    {%- set step = namespace(relation=none, settled=false) -%}
    {%- for number in range(100) if not step.settled -%}
        {%- do sources.update({'moved': step.relation}) -%}
        {%- set next = tidemark.make_slice(cfg['target'], load['commit_id'], 'moved_' ~ number, tidemark.replayed_keys_sql(cfg, plan, sources, load, departures=true)) -%}
        {%- if step.relation is not none -%}
            {%- set step.settled = run_query('select 1 from ' ~ next ~ ' as now left join ' ~ step.relation ~ ' as before on now._event_id = before._event_id'
                ~ ' and now._moved_from = before._moved_from where not (to_json(now._image) <=> to_json(before._image)) limit 1') | length == 0 -%}
        {%- endif -%}
        {%- set step.relation = next -%}
    {%- endfor -%}
    {{ return(step.relation) }}
{%- endmacro -%}


{#- Staging, rejects, sensitive values and the register of files: they count once the log has the commit. -#}
{%- macro write_beside_events(cfg, plan, targets, landing, load, figures, rows, staged) -%}
    {%- set stamp = load['commit_id'] ~ ' as _commit_id' -%}
    {%- do run_query(tidemark.insert_sql(targets['staging'], tidemark.staging_columns(cfg, plan),
        'select *, ' ~ load['batch_id'] ~ ' as _batch_id, _source_operation as _operation, ' ~ stamp ~ ' from ' ~ staged
        ~ ' where _is_usable')) -%}
    {%- if figures['rows_rejected'] -%}
        {%- do run_query(tidemark.insert_sql(targets['rejects'], tidemark.rejects_columns(),
            'select _reject_reason, ' ~ ('_key_hash' if plan['keyed'] else 'cast(null as string) as _key_hash') ~ ", _raw_payload, date'"
            ~ load['business_date'] ~ "' as _business_date, " ~ stamp ~ ', cast(null as bigint) as _resolved_by from ' ~ staged
            ~ ' where _reject_reason is not null')) -%}
    {%- endif -%}
    {%- if plan['sensitive'] and figures['rows_logged'] -%}
        {%- do run_query(tidemark.insert_sql(targets['sensitive'], tidemark.sensitive_columns(plan),
            'select *, ' ~ stamp ~ ' from ' ~ rows['rows'] ~ " where _supersedes is null and _operation <> 'T'")) -%}
    {%- endif -%}
    {%- do tidemark.write_landed(cfg, targets, landing, load) -%}
{%- endmacro -%}


{#- Remember the files that were read: as a whole with the last stretch of the batch. -#}
{%- macro write_landed(cfg, targets, landing, load) -%}
    {%- set rows = [] -%}
    {%- for file in landing['files'] -%}
        {%- do rows.append({
            '_file': file['_file'], '_file_number': file['_file_number'], '_file_size': file['_file_size'],
            '_file_time': tidemark.utc_text(file['_file_time']), '_is_whole': load['is_last'], '_commit_id': load['commit_id'],
        }) -%}
    {%- endfor -%}
    {%- if rows and tidemark.has_delta_files(cfg) -%}
        {%- do adapter.append_rows(targets['landed'], rows) -%}
    {%- elif rows -%}
        {%- do run_query(tidemark.append_rows_sql(targets['landed'], tidemark.landed_columns(), rows)) -%}
    {%- endif -%}
{%- endmacro -%}


{#- The state after a commit, for the next stretch. -#}
{%- macro remember_commit(state, plan, load) -%}
    {%- do state.update({
        'first': false, 'has_log': true, 'last_id': load['commit_id'], 'last_commit_id': load['commit_id'],
        'last_date': load['business_date'], 'last_date_commit_id': load['commit_id'],
    }) -%}
    {%- do state.update({'recorded': plan['recorded'], 'last_sequence_num': load['last_sequence_num']}) -%}
{%- endmacro -%}
