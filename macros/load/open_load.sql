{#- What every step of a load, and every operation, works with: {cfg, run, relations, commits, state}. No commit is in flight
    afterwards: what a dead run left is finished or rolled back first. -#}
{%- macro open_load(cfg, run, current=none) -%}
    {%- do tidemark.check_loads(cfg['entity']) -%}
    {%- set enriched = cfg['family'] == 'enriched' -%}
    {%- do tidemark.check_expressions(cfg) -%}
    {%- if tidemark.can('run_workers') and not run.get('dry_run') and tidemark.engine_of({'cfg': cfg, 'run': run}) != 'spark' -%}
        {%- do adapter.warm_worker() -%}
    {%- endif -%}
    {%- set current = current or cfg['target'] -%}
    {%- set relations = tidemark.atomic_relations(cfg) if enriched else tidemark.log_relations(cfg, run, current) -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {{ return(tidemark.opened_anew({'cfg': cfg, 'run': run, 'relations': relations, 'commits': commits})) }}
{%- endmacro -%}

{#- The relations of an entity with a log, as its format has them. -#}
{%- macro log_relations(cfg, run, current) -%}
    {%- set relations = tidemark.side_relations(current, cfg['file_format']) -%}
    {%- if cfg['file_format'] == 'parquet' -%}{%- do relations.update({'root': tidemark.parquet_root(cfg, current)}) -%}{%- endif -%}
    {{ return(relations) }}
{%- endmacro -%}

{#- The same with the state as it is by now, for another date or after another commit. -#}
{%- macro opened_anew(opened, run=none) -%}
    {%- set known = dict(opened, run=run or opened['run']) -%}
    {%- set state = tidemark.settled_state(known) -%}
    {%- set known = dict(known, run=tidemark.step(opened['cfg'], 'run')(known, state)) -%}
    {%- set state = tidemark.step(opened['cfg'], 'state')(known, state) -%}
    {{ return(dict(known, state=state, cfg=tidemark.config_of_date(opened['cfg'], known['run'], state))) }}
{%- endmacro -%}

{#- What the run does of an entity with a log: what it was asked for. -#}
{%- macro log__run(opened, state) -%}
    {{ return(opened['run']) }}
{%- endmacro -%}

{#- What tidemark_commits tells of the entity, once no commit is in flight. -#}
{%- macro settled_state(opened) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set layout = tidemark.checked_layout(tidemark.laid_out(opened)) -%}
    {#- Asked before the commits are: what is written to the log from now on is noticed, see stage_changes(). -#}
    {%- set log_version = none if layout is none else tidemark.log_version(opened) -%}
    {%- set state = tidemark.entity_state(opened['commits'], cfg['relation'], run) -%}
    {%- if not state['inflight'] and (layout is none or not tidemark.migrate_entity(opened, layout)) -%}
        {{ return(dict(state, log_version=log_version)) }}
    {%- elif state['inflight'] and run.get('dry_run') -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': commit ' ~ state['inflight'][0]['commit_id'] ~ ' is in flight: a run is going on, or died. The next run finishes it or rolls it back'
        ) -%}
    {%- endif -%}
    {%- for commit in state['inflight'] | sort(attribute='commit_id') -%}
        {%- do tidemark.mend_commit(opened, state, commit) -%}
    {%- endfor -%}
    {%- if state['inflight'] -%}{%- do tidemark.migrate_entity(opened, layout) -%}{%- endif -%}
    {%- set state = tidemark.entity_state(opened['commits'], cfg['relation'], run) -%}
    {#- A Parquet log is a view by the name of a Delta one. -#}
    {{ return(dict(state, log_version=none if tidemark.changes_format(cfg, state['recorded']) else tidemark.log_version(opened))) }}
{%- endmacro -%}

{#- The version of the log, or none where rows cannot be staged into it. -#}
{%- macro log_version(opened) -%}
    {%- set has_version = opened['cfg']['family'] != 'enriched' and tidemark.has_delta_files(opened['cfg']) -%}
    {{ return(adapter.table_version(opened['relations']['log']) if has_version else none) }}
{%- endmacro -%}

{#- The state of an entity with a log: what lies where its tables belong is checked, what is missing beside the log made anew. -#}
{%- macro log__state(opened, state) -%}
    {%- set cfg, run, relations = opened['cfg'], opened['run'], opened['relations'] -%}
    {%- set is_other = tidemark.changes_format(cfg, state['recorded']) -%}
    {%- if is_other and not run['full_refresh'] -%}
        {%- do tidemark.check_drift(cfg, ['file_format was ' ~ state['recorded']['file_format'] ~ ' and is now ' ~ cfg['file_format']], 'with --full-refresh (the old one is kept)') -%}
    {%- endif -%}
    {%- set present = tidemark.present_relations(relations) -%}
    {%- set existing = load_cached_relation(cfg['target']) -%}
    {%- set has_log, has_current = is_other or 'log_table' in present, 'current' in present -%}
    {#- A first run that died before its commit leaves tables without rows: this run is the first. One that lives is shut out of the log
        before that is dropped. The log goes last, as it tells whose the others are. Who died here may have left the row of a fence. -#}
    {%- set of_commits = '_commit_id is not null' if cfg['file_format'] == 'iceberg' else none -%}
    {%- set is_left = has_log and not state['recorded'] and not tidemark.has_rows(relations['log_table'], of_commits) -%}
    {%- if is_left and not run.get('dry_run') -%}
        {%- do tidemark.run_statements(tidemark.log__fence(cfg['file_format'], relations['log_table'], 1)) -%}
        {%- if tidemark.has_rows(relations['log_table'], of_commits) -%}
            {%- do tidemark.raise_error('data', cfg['entity'] ~ ': another run has made its first load since this one began, which wrote nothing. Run it again') -%}
        {%- endif -%}
    {%- endif -%}
    {%- if is_left -%}
        {%- for name in ['current', 'staging', 'landed', 'log_table'] if not run.get('dry_run') and (name != 'current' or not (existing is not none and existing.is_view)) -%}
            {%- do tidemark.drop_table(relations[name]) -%}
        {%- endfor -%}
        {%- set has_log, has_current = false, false -%}
    {%- endif -%}
    {%- if not run['full_refresh'] -%}
        {%- set found = 'view' if existing is not none and existing.is_view else 'table' -%}
        {%- do tidemark.check_whose_tables(opened, state, has_log, found if has_current else none) -%}
    {%- endif -%}
    {%- set first = not state['recorded'] or run['full_refresh'] -%}
    {%- set state = dict(state, has_log=has_log, first=first, log_version=none if first else state['log_version']) -%}
    {%- if not first -%}{%- do tidemark.make_missing(dict(opened, state=state), present) -%}{%- endif -%}
    {{ return(state) }}
{%- endmacro -%}

{#- Log and commits belong together, and current belongs to a log. `current` says what there is in its place, if anything. -#}
{%- macro check_whose_tables(opened, state, has_log, current) -%}
    {%- set relations, entity = opened['relations'], opened['cfg']['entity'] -%}
    {%- if state['recorded'] and not has_log -%}
        {%- do tidemark.raise_error('data',
            entity ~ ': the log ' ~ relations['log'] ~ ' is gone, but commits were made to it. '
            ~ 'Restore the table, or start a new log with --full-refresh'
        ) -%}
    {%- elif has_log and not state['recorded'] -%}
        {%- do tidemark.raise_error('data',
            entity ~ ': there is a log ' ~ relations['log'] ~ ', but ' ~ opened['commits']['view']
            ~ ' knows no commit of it. Restore that table, or start a new log with --full-refresh'
        ) -%}
    {%- elif current and not has_log -%}
        {%- do tidemark.raise_error('data',
            entity ~ ': ' ~ relations['current'] ~ ' is a ' ~ current
            ~ ' that Tidemark did not make. Drop or rename it, or replace it with --full-refresh'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro raise_no_date(cfg) -%}
    {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': which business date? Give it with --vars \'{business_date: "2026-03-04"}\'') -%}
{%- endmacro -%}
