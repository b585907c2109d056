{#-
    What is known of the entity once nothing is in flight: interrupted commits are finished or rolled back first, and
    what lies where the entity's tables belong is checked.
-#}
{%- macro ready_state(cfg, run, relations, commits) -%}
    {#- Asked before the commits are: what is written to the log from now on is noticed, see stage_changes(). -#}
    {%- set log_version = tidemark.log_version(cfg, relations) -%}
    {%- set state = tidemark.entity_state(commits, cfg['relation'], run) -%}
    {%- if state['inflight'] and run.get('dry_run') -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': commit ' ~ state['inflight'][0]['commit_id'] ~ ' is in flight: a run is going on, or died. The next run finishes it or rolls it back'
        ) -%}
    {%- elif state['inflight'] -%}
        {%- for commit in state['inflight'] | sort(attribute='commit_id') -%}
            {%- do tidemark.resolve_commit(cfg, run, relations, commits, commit, state) -%}
        {%- endfor -%}
        {%- set log_version = tidemark.log_version(cfg, relations) -%}
        {%- set state = tidemark.entity_state(commits, cfg['relation'], run) -%}
    {%- endif -%}

    {%- set present = tidemark.present_relations(relations) -%}
    {%- set existing = load_cached_relation(cfg['target']) -%}
    {%- set has_log, has_current = 'log_table' in present, 'current' in present -%}
    {#- A first run that died before its commit leaves tables without rows: this run is the first. The log goes last, as
        it tells whose the others are. -#}
    {%- if has_log and not state['recorded'] and run_query('select 1 from ' ~ relations['log_table'] ~ ' limit 1') | length == 0 -%}
        {%- for name in ['current', 'staging', 'landed', 'log_table'] if name != 'current' or not (existing is not none and existing.is_view) -%}
            {%- do run_query('drop table if exists ' ~ relations[name]) -%}
        {%- endfor -%}
        {%- set has_log, has_current = false, false -%}
    {%- endif -%}
    {%- if not run['full_refresh'] -%}
        {%- if state['recorded'] and not has_log -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': the log ' ~ relations['log'] ~ ' is gone, but commits were made to it. '
                ~ 'Restore the table, or start a new log with --full-refresh'
            ) -%}
        {%- elif has_log and not state['recorded'] -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': there is a log ' ~ relations['log'] ~ ', but ' ~ commits['view']
                ~ ' knows no commit of it. Restore that table, or start a new log with --full-refresh'
            ) -%}
        {%- elif has_current and not has_log -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': ' ~ relations['current'] ~ ' is a '
                ~ ('view' if existing is not none and existing.is_view else 'table')
                ~ ' that Tidemark did not make. Drop or rename it, or replace it with --full-refresh'
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set first = not state['recorded'] or run['full_refresh'] -%}
    {%- do state.update({
        'has_log': has_log,
        'log_version': none if first else log_version,
        'first': first,
    }) -%}
    {%- if not first -%}
        {%- do tidemark.make_missing(cfg, run, state, relations, present) -%}
    {%- endif -%}
    {{ return(state) }}
{%- endmacro -%}


{#- The version of the log, or none where rows cannot be staged into it. -#}
{%- macro log_version(cfg, relations) -%}
    {{ return(adapter.table_version(relations['log']) if tidemark.has_delta_files(cfg) else none) }}
{%- endmacro -%}


{#-
    Finish or roll back a commit that a run left in flight. The log decides: if it has the commit, current follows;
    if not, what was written beside it is taken away. The run that began it may be alive after all, slow, on another
    machine: so it is first recorded as taken over and shut out of the log, which then is asked again.
-#}
{%- macro resolve_commit(cfg, run, relations, commits, commit, state) -%}
    {%- set recorded = fromjson(commit['config']) -%}
    {%- set file_format = recorded['file_format'] -%}
    {%- do commit.update({
        'relation': cfg['relation'], 'entity': cfg['entity'], 'invocation_id': run['invocation_id'],
    }) -%}
    {%- set figures = tidemark.query_rows(
        'select * from ' ~ commits['states'] ~ ' where relation = ' ~ tidemark.string_literal(cfg['relation'])
        ~ ' and commit_id = ' ~ commit['commit_id'] ~ " and state = 'inflight' limit 1"
    )[0] -%}
    {%- do commit.update({
        'started_at': tidemark.utc_text(figures['started_at']), 'config': recorded, 'is_correction': figures['is_correction'],
        'source_commit_id': figures['source_commit_id'],
    }) -%}
    {%- set kept = {} -%}
    {%- for name, value in figures.items() if name.startswith('rows_') or name.endswith(('_before', '_sequence_num')) or name in ['batch_id', 'last_file'] -%}
        {%- do kept.update({name: value}) -%}
    {%- endfor -%}

    {%- set new_log = tidemark.new_relation(relations['log_table']) -%}
    {%- set landed = tidemark.has_commit(relations['log_table'], commit['commit_id']) -%}
    {%- set replaces_log = commit['kind'] in ['full_refresh', 'rehash'] -%}
    {%- if commit['kind'] == 'full_refresh' -%}
        {%- set landed = landed or kept['rows_logged'] == 0 or tidemark.has_commit(new_log, commit['commit_id']) -%}
    {%- elif commit['kind'] == 'rehash' -%}
        {%- set landed = not tidemark.relation_exists(relations['log_table'])
            or tidemark.relation_exists(tidemark.old_relation(relations['log_table'], commit['commit_id']))
            or (tidemark.relation_exists(new_log)
                and run_query('select count(*) from ' ~ new_log)[0][0] | int == kept['rows_logged'] | int) -%}
    {%- endif -%}
    {%- if not landed and not replaces_log and tidemark.relation_exists(relations['log_table']) -%}
        {%- do commit.update({'details': tojson({'taken_over_by': run['invocation_id']})}) -%}
        {%- do tidemark.record_commit(commits, commit, 'inflight', kept) -%}
        {%- do tidemark.run_statements(tidemark.for_format(file_format, 'fence_log')(relations['log_table'], commit['commit_id'])) -%}
        {%- set landed = tidemark.has_commit(relations['log_table'], commit['commit_id']) -%}
    {%- endif -%}
    {%- if replaces_log and landed -%}
        {%- do tidemark.swap_logs(relations, commit['commit_id']) -%}
    {%- endif -%}

    {%- if landed -%}
        {%- set plan = tidemark.recorded_plan(recorded, cfg) -%}
        {%- set latest = commit['kind'] == 'full_refresh' or not state['last_date']
            or (commit.get('business_date') and commit['business_date'] >= state['last_date']) -%}
        {%- set load = {
            'business_date': commit.get('business_date') or state['last_date'],
            'commit_id': commit['commit_id'],
            'kind': commit['kind'],
            'forward': false,
            'rebuild': replaces_log or not tidemark.relation_exists(relations['current']),
            'last_date': commit['business_date'] if latest else state['last_date'],
            'last_date_commit_id': commit['commit_id'] if latest else state['last_date_commit_id'],
        } -%}
        {%- set recorded_cfg = tidemark.recorded_cfg(cfg, recorded) -%}
        {%- set steps = tidemark.mark_undone(commits, commit) if commit['kind'] == 'rollback' else none -%}
        {%- if steps -%}
            {%- do load.update({'business_date': steps['last_date'], 'last_date': steps['last_date'], 'last_date_commit_id': steps['last_date_commit_id']}) -%}
        {%- endif -%}
        {%- if load['rebuild'] -%}
            {%- do tidemark.make_current(recorded_cfg, plan, relations, load) -%}
        {%- endif -%}
        {%- do tidemark.make_history_view(recorded_cfg, plan, relations) -%}
        {%- do tidemark.apply_to_current(recorded_cfg, plan, relations, load) -%}
        {%- if steps -%}
            {%- do tidemark.reopen_rejects(recorded_cfg, relations, commit, steps) -%}
        {%- elif commit['kind'] == 'load' and recorded['extract'] != 'events' and recorded.get('marks_rejects') -%}
            {%- do tidemark.resolve_rejects(recorded_cfg, relations, commit['business_date'], commit['commit_id']) -%}
        {%- endif -%}
        {%- do tidemark.record_commit(commits, commit, 'completed', kept) -%}
        {%- do log(cfg['entity'] ~ ': finished commit ' ~ commit['commit_id'] ~ ' (' ~ commit.get('business_date', commit['kind'])
            ~ '), which an earlier run had left after writing its log', info=true) -%}
    {%- else -%}
        {%- if replaces_log -%}
            {%- for name in ['rejects', 'supplied', 'sensitive', 'staging', 'landed', 'log_table'] -%}
                {%- do run_query('drop table if exists ' ~ tidemark.new_relation(relations[name])) -%}
            {%- endfor -%}
        {%- endif -%}
        {%- do tidemark.discard_side_rows(file_format, relations, commit['commit_id']) -%}
        {%- do tidemark.record_commit(commits, commit, 'rolled_back', {}) -%}
        {%- do log(cfg['entity'] ~ ': rolled back commit ' ~ commit['commit_id'] ~ ' (' ~ commit.get('business_date', commit['kind'])
            ~ '), which an earlier run had left before writing its log', info=true) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Whether the log has rows or marks of a commit. Both kinds are rows of the slices where the format cannot update. -#}
{%- macro has_commit(log_table, commit_id) -%}
    {%- if not tidemark.relation_exists(log_table) -%}{{ return(false) }}{%- endif -%}
    {%- set slices = log_table.identifier.endswith(('log_slices', 'log_slices__new')) -%}
    {%- set condition = 'tidemark_commit = ' ~ commit_id if slices
        else '_commit_id = ' ~ commit_id ~ ' or _superseded_by = ' ~ commit_id -%}
    {{ return(run_query('select 1 from ' ~ log_table ~ ' where ' ~ condition ~ ' limit 1') | length > 0) }}
{%- endmacro -%}


{#- Take away what a commit wrote beside the log before it failed. -#}
{%- macro discard_side_rows(file_format, relations, commit_id) -%}
    {%- for name in ['rejects', 'sensitive', 'supplied', 'staging', 'landed'] if tidemark.relation_exists(relations[name]) -%}
        {%- do tidemark.run_statements(tidemark.for_format(file_format, 'discard_commit')(relations[name], commit_id)) -%}
    {%- endfor -%}
{%- endmacro -%}
