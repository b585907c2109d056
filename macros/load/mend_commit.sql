{#- Finish or roll back a commit that a run left in flight. The log decides: if it has the commit, current follows; if not, what was
    written beside it is taken away. The run that began it may be alive after all, slow, on another machine: so it is first recorded as
    taken over and shut out of the log, which then is asked again, and of what it may write beside it and that others look at. The commit
    stays that run's. -#}
{%- macro mend_commit(opened, state, left) -%}
    {%- set cfg, run, relations, commits = opened['cfg'], opened['run'], opened['relations'], opened['commits'] -%}
    {%- set row = tidemark.query_rows(
        'select *, unix_micros(started_at) as started_micros, unix_micros(state_at) as state_micros, unix_micros(etl_tstamp) as etl_micros from ' ~ commits['states'] ~ ' where relation = ' ~ tidemark.string_literal(cfg['relation'])
        ~ ' and commit_id = ' ~ left['commit_id'] ~ " and state = 'inflight' order by state_at desc nulls last limit 1"
    )[0] -%}
    {%- set commit = dict(
        left, relation=cfg['relation'], entity=cfg['entity'], invocation_id=row['invocation_id'], started_at=tidemark.utc_text_of_micros(row['started_micros']),
        state_at=tidemark.utc_text_of_micros(row['state_micros']),
        config=fromjson(left['config'] or 'null'), is_correction=row['is_correction'], source_commit_id=row['source_commit_id']
    ) -%}
    {%- set opened = tidemark.opened_as_begun(opened, commit) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set numbers = {} -%}
    {%- for name, value in row.items() if name.startswith('rows_') or name.endswith(('_before', '_sequence_num')) or name in ['batch_id', 'last_file'] -%}
        {%- do numbers.update({name: value}) -%}
    {%- endfor -%}
    {%- if row['etl_micros'] is not none -%}
        {%- do numbers.update({'etl_tstamp': tidemark.utc_text_of_micros(row['etl_micros'])}) -%}
    {%- endif -%}

    {%- set landed = tidemark.step(cfg, 'has_landed')(opened, commit, numbers) -%}
    {#- who replaces the log looks whether it was taken over as long as that has not happened -#}
    {%- set replaces = tidemark.replaces_log(commit) and cfg['family'] != 'enriched' -%}
    {%- if not landed or replaces -%}
        {%- set shared = tidemark.step(cfg, 'shared_log')(relations, commit) -%}
        {%- set commit = dict(commit, details=tojson({'taken_over_by': run['invocation_id']})) -%}
        {%- do tidemark.record_commit(commits, commit, 'inflight', numbers) -%}
        {%- if shared and tidemark.relation_exists(shared) -%}
            {%- do tidemark.run_statements(tidemark.step(cfg, 'fences')((commit['config'] or cfg)['file_format'], relations, commit['commit_id'])) -%}
        {%- endif -%}
        {%- set landed = tidemark.step(cfg, 'has_landed')(opened, commit, numbers)
            and not (replaces and tidemark.has_moved_since(opened, commit)) -%}
    {%- endif -%}
    {%- if landed -%}
        {%- do tidemark.step(cfg, 'finish')(opened, state, commit) -%}
    {%- else -%}
        {%- do tidemark.step(cfg, 'discard')(dict(opened, state=state), commit) -%}
    {%- endif -%}
    {%- do tidemark.record_commit(commits, commit, 'completed' if landed else 'rolled_back', numbers if landed else {}) -%}
    {%- do log(cfg['entity'] ~ (': finished commit ' if landed else ': rolled back commit ') ~ commit['commit_id'] ~ ' ('
        ~ commit.get('business_date', commit['kind']) ~ '), which an earlier run had left ' ~ ('after' if landed else 'before') ~ ' writing its log', info=true) -%}
{%- endmacro -%}

{#- What a commit in flight has written is looked for where its format has it, whatever the settings say by now. -#}
{%- macro opened_as_begun(opened, commit) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- set begun = (commit['config'] or {}).get('file_format', cfg['file_format']) -%}
    {%- if begun == cfg['file_format'] or cfg['family'] == 'enriched' -%}{{ return(opened) }}{%- endif -%}
    {%- set cfg = dict(cfg, file_format=begun) -%}
    {{ return(dict(opened, cfg=cfg, relations=tidemark.log_relations(cfg, opened['run'], opened['relations']['current']))) }}
{%- endmacro -%}

{#- The table that the run which left a commit may still write to; none where it wrote a new one, which nobody reads: it looks whether it
    was taken over before that takes the place of the old one, see check_replaced_log(). -#}
{%- macro log__shared_log(relations, commit) -%}
    {{ return(none if commit['kind'] in ['full_refresh', 'rehash'] else relations['log_table']) }}
{%- endmacro -%}

{#- What lies beside the log counts once the log has its commit. -#}
{%- macro log__fences(file_format, relations, commit_id) -%}
    {{ return(tidemark.log__fence(file_format, relations['log_table'], commit_id)) }}
{%- endmacro -%}

{%- macro log__fence(file_format, log_table, commit_id) -%}
    {{ return(tidemark.for_format(file_format, 'fence_log')(log_table, commit_id)) }}
{%- endmacro -%}

{%- macro log__has_landed(opened, commit, numbers) -%}
    {%- set log = opened['relations']['log_table'] -%}
    {%- set new_log = tidemark.new_relation(log) -%}
    {%- if commit['kind'] == 'rehash' -%}
        {{ return(
            not tidemark.relation_exists(log) or tidemark.relation_exists(tidemark.old_relation(log, commit['commit_id']))
            or tidemark.has_new_log(log, commit, numbers['rows_logged'])
        ) }}
    {%- endif -%}
    {#- A rollback without rows of the log is done once it is recorded; what it undoes may be marked already. -#}
    {%- if commit['kind'] == 'rollback' and numbers['rows_logged'] == 0 and numbers['rows_superseded'] == 0 -%}{{ return(true) }}{%- endif -%}
    {{ return(
        tidemark.has_commit(log, commit['commit_id'])
        or (commit['kind'] == 'full_refresh' and (numbers['rows_logged'] == 0 or tidemark.has_commit(new_log, commit['commit_id'])))
    ) }}
{%- endmacro -%}

{#- Whether a log has rows or marks of a commit. Both kinds are rows of the slices where the format cannot update. -#}
{%- macro has_commit(log_table, commit_id) -%}
    {%- if not tidemark.relation_exists(log_table) -%}{{ return(false) }}{%- endif -%}
    {%- set slices = log_table.identifier.endswith(('log_slices', 'log_slices__new')) -%}
    {%- set condition = 'tidemark_commit = ' ~ commit_id if slices
        else '_commit_id = ' ~ commit_id ~ ' or _superseded_by = ' ~ commit_id -%}
    {{ return(tidemark.has_rows(log_table, condition)) }}
{%- endmacro -%}

{#- What is left to do once the log has the commit. -#}
{%- macro log__finish(opened, state, commit) -%}
    {%- set cfg, relations, commits, recorded = opened['cfg'], opened['relations'], opened['commits'], commit['config'] -%}
    {%- set recorded_cfg, plan = tidemark.recorded_cfg(cfg, recorded), tidemark.recorded_plan(recorded, cfg) -%}
    {%- set latest = commit['kind'] == 'full_refresh' or not state['last_date']
        or (commit.get('business_date') and commit['business_date'] >= state['last_date']) -%}
    {%- set is_remade = commit['kind'] == 'rollback' and tidemark.columns_go_back(recorded_cfg, relations, state['recorded'], recorded) -%}
    {%- set is_gone = not tidemark.relation_exists(relations['current']) -%}
    {%- set load = {
        'commit_id': commit['commit_id'], 'kind': commit['kind'], 'forward': false,
        'business_date': commit.get('business_date') or state['last_date'],
        'last_date': commit['business_date'] if latest else state['last_date'],
        'last_date_commit_id': commit['commit_id'] if latest else state['last_date_commit_id'],
        'last_extract': recorded['extract'] if latest else state['last_extract'],
        'rebuild': is_gone or is_remade or (state['recorded'] and tidemark.is_retagged(recorded, state['recorded'])),
        'mends_rejects': commit['kind'] == 'load' and recorded['extract'] != 'events' and recorded.get('marks_rejects'),
    } -%}
    {%- if commit['kind'] not in ['full_refresh', 'rehash'] -%}
        {%- if is_gone -%}{%- do tidemark.make_current(recorded_cfg, plan, relations) -%}{%- endif -%}
        {%- do tidemark.make_history_view(recorded_cfg, plan, relations) -%}
        {#- what the log has current must take -#}
        {%- if recorded['file_format'] != 'parquet' -%}
            {%- do tidemark.free_columns(relations['current'], tidemark.no_longer_required(relations['current'], plan['stored'])) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if commit['kind'] == 'rollback' -%}
        {%- set steps = tidemark.steps_of_rollback(commits, commit) -%}
        {%- set load = dict(load, business_date=steps['last_date'], last_date=steps['last_date'], last_date_commit_id=steps['last_date_commit_id'], last_extract=steps['last_extract']) -%}
    {%- endif -%}
    {%- do tidemark.apply_load(dict(opened, cfg=recorded_cfg, state=state), plan, load, commit) -%}
{%- endmacro -%}

{#- Take away what a commit wrote beside the log before it failed, and from current what it shows by other settings than the last one: a
    load that logs nothing may have come so far. -#}
{%- macro log__discard(opened, commit) -%}
    {%- set cfg, relations, recorded = opened['cfg'], opened['relations'], opened['state']['recorded'] -%}
    {%- if recorded and recorded['extract'] == 'events' and commit['kind'] == 'load' -%}{%- do tidemark.undo_statement(opened, commit) -%}{%- endif -%}
    {%- if recorded and commit['kind'] != 'full_refresh' and tidemark.is_retagged(commit['config'], recorded) and tidemark.relation_exists(relations['current']) -%}
        {%- do tidemark.rebuild_current(tidemark.recorded_cfg(cfg, recorded), tidemark.recorded_plan(recorded, cfg), opened['state'], relations) -%}
    {%- endif -%}
    {%- if commit['kind'] in ['full_refresh', 'rehash'] -%}{%- do tidemark.drop_new_log(relations) -%}{%- endif -%}
    {#- In another format nothing was written but to the new tables. -#}
    {%- if tidemark.changes_format(commit['config'], recorded) -%}{{ return(none) }}{%- endif -%}
    {%- set file_format = commit['config']['file_format'] -%}
    {%- for name in ['rejects', 'sensitive', 'supplied', 'staging', 'landed'] if tidemark.relation_exists(relations[name]) -%}
        {#- to look costs a tenth of a DELETE that finds nothing -#}
        {%- if file_format == 'parquet' or tidemark.has_rows(relations[name], '_commit_id = ' ~ commit['commit_id']) -%}
            {%- do tidemark.run_statements(tidemark.for_format(file_format, 'discard_commit')(relations[name], commit['commit_id'])) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
