{#- What there is to say of a planned load beside its rows: numbers, verdicts, versions; texts, numbers and lists. -#}
{%- macro planned_facts(opened, body, source, staged, derived) -%}
    {%- set cfg, run, state, relations = opened['cfg'], opened['run'], opened['state'], opened['relations'] -%}
    {%- set plan, load, figures = staged['plan'], derived['load'], derived['figures'] -%}
    {%- set is_events = cfg['extract'] == 'events' -%}
    {%- set counts = {} -%}
    {%- for name, value in figures.items() if name.startswith('rows_') -%}{%- do counts.update({name: (value or 0) | int}) -%}{%- endfor -%}
    {%- set has_rows = counts['rows_logged'] > 0 or counts['rows_superseded'] > 0 -%}
    {%- set existing = figures.get('existing') -%}
    {%- if is_events and not state['first'] -%}
        {%- set existing = run_query('select count(*) from ' ~ relations['current'] ~ " where _operation <> 'D'")[0][0] -%}
    {%- endif -%}
    {%- set guard, reject_guard = tidemark.verdict_on_deletes(opened, figures), tidemark.verdict_on_rejects(opened, figures) -%}
    {%- set stops = tidemark.why_it_stops(opened, staged, guard, reject_guard) -%}
    {%- set is_new = has_rows or state['first'] or figures.get('new_rejects') or (is_events and counts['rows_rejected'] > 0)
        or (counts['rows_rejected'] > 0 and load.get('this_commit_id') is none) -%}
    {%- set kind, outcome = 'load', 'changes' if is_new else 'nothing' -%}
    {%- if load['kind'] == 'full_refresh' -%}{%- set kind = 'full refresh' -%}
    {%- elif state['first'] -%}{%- set kind = 'first load' -%}
    {%- elif load.get('this_commit_id') -%}{%- set kind = 'correction' -%}
    {%- elif not load['forward'] -%}{%- set kind = 'late load' -%}
    {%- endif -%}
    {{ return(dict(tidemark.no_planned_facts(opened),
        business_date=load['business_date'], kind=kind, outcome='stops' if stops else outcome, stops=stops,
        counts=counts, existing=(existing or 0) | int, columns_known=cfg['changed_columns'] is not false,
        guard=guard, reject_guard=reject_guard, files=tidemark.planned_files(opened, body, staged, derived, has_rows),
        batch=tidemark.planned_batch(source, staged, derived) if is_events else none,
        sensitive=plan['sensitive'] | map(attribute='name') | list,
        sensitive_keys=plan['sensitive'] | selectattr('key') | map(attribute='name') | list,
        notes=tidemark.planned_notes(opened, source, staged, derived, has_rows)
    )) }}
{%- endmacro -%}

{#- The same of a load that has nothing to read, as no event has landed since the last one. -#}
{%- macro no_planned_facts(opened) -%}
    {%- set cfg, run, state, relations = opened['cfg'], opened['run'], opened['state'], opened['relations'] -%}
    {%- set versions = {} -%}
    {#- Of the first load's tables, and of those that a full refresh makes in another format, there are none. -#}
    {%- set are_to_come = not state['recorded'] -%}
    {%- for name in ['log', 'current'] -%}
        {%- do versions.update({name: none if are_to_come else tidemark.table_version(cfg['file_format'], relations[name])}) -%}
    {%- endfor -%}
    {{ return({
        'entity': cfg['entity'], 'relation': cfg['relation'], 'extract': cfg['extract'], 'business_date': run['business_date'],
        'kind': 'first load' if state['first'] else 'load', 'outcome': 'nothing', 'stops': none, 'counts': {}, 'existing': 0, 'columns_known': true,
        'on_reject': cfg['on_reject'], 'guard': none, 'reject_guard': none, 'files': {'current': 'nothing', 'current_files': none, 'current_files_changed': none},
        'batch': none, 'sensitive': [], 'sensitive_keys': [], 'notes': ['nothing has landed since the last run'],
        'tables': {'last_commit_id': state['last_id'], 'log_version': versions['log'], 'current_version': versions['current']},
    }) }}
{%- endmacro -%}

{#- What the guard of deletes would say, or none where it does not look. -#}
{%- macro verdict_on_deletes(opened, figures) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- if cfg['extract'] != 'full' -%}{{ return(none) }}{%- endif -%}
    {%- set stopped = 'let through' if opened['run']['allow_deletes'] else 'stops' -%}
    {%- set guarded = tidemark.guarded_deletes(figures) -%}
    {{ return({
        'verdict': stopped if tidemark.deletes_too_much(cfg, figures) else 'passes',
        'rows_deleted': guarded['deleted'], 'existing': guarded['existing'], 'max_delete_fraction': cfg['max_delete_fraction'],
    }) }}
{%- endmacro -%}

{#- The same of the guard of rejects, which looks where they go to quarantine. -#}
{%- macro verdict_on_rejects(opened, figures) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if cfg['on_reject'] == 'fail' or not figures.get('rows_rejected') -%}{{ return(none) }}{%- endif -%}
    {%- set stopped = 'let through' if run['allow_rejects'] else 'stops' -%}
    {%- set guarded = tidemark.guarded_rejects(figures) -%}
    {{ return({
        'verdict': stopped if tidemark.rejects_too_many(cfg, dict(run, allow_rejects=false), figures) else 'passes',
        'rows_rejected': guarded['rejected'], 'rows_read': guarded['read'], 'max_reject_fraction': cfg['max_reject_fraction'],
    }) }}
{%- endmacro -%}

{#- Why a load would stop before it writes anything, or none. -#}
{%- macro why_it_stops(opened, staged, guard, reject_guard) -%}
    {%- set cfg, figures = opened['cfg'], staged['figures'] -%}
    {%- set reasons = [] -%}
    {%- if figures.get('rows_rejected') and cfg['on_reject'] == 'fail' -%}
        {%- do reasons.append(figures['rows_rejected'] ~ ' of ' ~ figures['rows_read'] ~ ' ' ~ staged['rejects']['units'][1] ~ ' cannot be used, and on_reject is fail') -%}
    {%- endif -%}
    {%- if reject_guard and reject_guard['verdict'] == 'stops' -%}
        {%- do reasons.append(reject_guard['rows_rejected'] ~ ' of ' ~ reject_guard['rows_read'] ~ ' ' ~ staged['rejects']['units'][1]
            ~ ' cannot be used (max_reject_fraction is ' ~ cfg['max_reject_fraction'] ~ ')') -%}
    {%- endif -%}
    {%- if guard and guard['verdict'] == 'stops' -%}
        {%- do reasons.append('it has ' ~ figures['rows_read'] ~ ' rows and would delete ' ~ guard['rows_deleted'] ~ ' of ' ~ guard['existing']
            ~ ' keys (max_delete_fraction is ' ~ cfg['max_delete_fraction'] ~ ')') -%}
    {%- endif -%}
    {{ return(reasons | join('; ') if reasons else none) }}
{%- endmacro -%}

{#- How current would be written, and how much of it. The engine in the workers writes all of what it takes. -#}
{%- macro planned_files(opened, body, staged, derived, has_rows) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set load, figures = derived['load'], derived['figures'] -%}
    {%- if opened['state']['first'] -%}{{ return({'current': 'whole', 'current_files': none, 'current_files_changed': none}) }}{%- endif -%}
    {%- set written = 'nothing' -%}
    {%- if load['rebuild'] or (derived['outcome'] == 'commit' and tidemark.is_written_whole(cfg, relations, load, figures, not has_rows)) -%}
        {%- set written = 'whole' -%}
    {%- elif has_rows -%}
        {%- set asked = dict(opened, cfg=dict(cfg, engine=cfg['asked_engine'])) -%}
        {%- set by_workers = load['forward'] and cfg['extract'] != 'events' and not staged['plan']['added'] and tidemark.source_of_workers(asked, body) is not none -%}
        {%- set written = 'whole' if by_workers else 'merge' -%}
    {%- endif -%}
    {%- set is_delta = cfg['file_format'] == 'delta' -%}
    {%- set changed_files = 0 if is_delta else none -%}
    {%- if has_rows and is_delta and derived['slice'] -%}
        {%- set sql = tidemark.planned_files_sql(relations['current'], derived['slice'], tidemark.has_marks(opened, load)) -%}
        {%- set changed_files = tidemark.query_rows(sql)[0]['file_count'] -%}
    {%- endif -%}
    {{ return({
        'current': written,
        'current_files': tidemark.file_count('delta', relations['current']) if is_delta else none,
        'current_files_changed': changed_files,
    }) }}
{%- endmacro -%}

{#- Which change events would be taken. -#}
{%- macro planned_batch(source, staged, derived) -%}
    {%- set files = (staged.get('files') or []) | map(attribute='_file') | list -%}
    {%- set figures = derived['figures'] -%}
    {{ return({
        'files': files | length, 'first_file': files[0] if files else none, 'last_file': files[-1] if files else none,
        'first_sequence_num': figures.get('first_sequence_num'), 'last_sequence_num': figures.get('last_sequence_num'),
        'not_planned': source['parts'] | length - 1,
    }) }}
{%- endmacro -%}

{#- What else there is to know, a sentence each. -#}
{%- macro planned_notes(opened, source, staged, derived, has_rows) -%}
    {%- set cfg, state, load = opened['cfg'], opened['state'], derived['load'] -%}
    {%- set notes = tidemark.new_columns(cfg, staged['plan'], none if state['first'] else state['recorded'])['short'] | list -%}
    {%- if source['parts'] | length > 1 -%}
        {%- do notes.append('a DDL event changes the columns: planned is what comes before it') -%}
    {%- endif -%}
    {%- for statement in load.get('statements') or [] if statement.get('text') -%}
        {%- do notes.append('a DDL event is applied: ' ~ statement['text'][:120]) -%}
    {%- endfor -%}
    {%- if derived['outcome'] == 'repeat' -%}
        {%- do notes.append('nothing is other than when it was loaded before' if cfg['extract'] != 'events' else 'every event is known already') -%}
    {%- elif derived['outcome'] == 'commit' and not has_rows and not state['first'] -%}
        {%- do notes.append('no row changes: only the commit is recorded') -%}
    {%- endif -%}
    {%- if load['rebuild'] -%}
        {%- do notes.append('current is written again, as tag_unchanged or soft_delete changed') -%}
    {%- endif -%}
    {{ return(notes) }}
{%- endmacro -%}

{#- Whether what the log would be written from tells of rows that are superseded too. -#}
{%- macro has_marks(opened, load) -%}
    {{ return(opened['cfg']['extract'] == 'events' or not load['forward']) }}
{%- endmacro -%}

{#- The queries of the rows that a plan shows, by what they give. -#}
{%- macro planned_queries(opened, staged, derived) -%}
    {%- set cfg, load, slice, plan = opened['cfg'], derived['load'], derived['slice'], staged['plan'] -%}
    {%- set marks = tidemark.has_marks(opened, load) -%}
    {%- set queries = {} -%}
    {%- if derived['figures'].get('rows_rejected') -%}
        {%- do queries.update({
            'rejects': tidemark.planned_rejects_sql(staged['rejects']['rows']),
            'rejected': staged['rejects']['samples'] ~ '\nlimit ' ~ opened['run']['sample_rows'],
        }) -%}
    {%- endif -%}
    {%- if slice and (derived['figures']['rows_logged'] or derived['figures']['rows_superseded']) -%}
        {%- set before = none -%}
        {%- if cfg['extract'] != 'events' and load['existing'] -%}
            {%- set before = 'select\n    ' ~ tidemark.column_list_expr(plan['stored'] | map(attribute='name') | list + ['_key_hash']) ~ '\nfrom ' ~ load['existing'] -%}
        {%- elif cfg['extract'] == 'events' and plan['keyed'] and load['forward'] and not opened['state']['first'] -%}
            {%- set before = tidemark.rows_before_events_sql(plan, tidemark.opened_to_come(opened, plan)['relations']['current'], slice) -%}
        {%- endif -%}
        {%- set condition = "_business_date = date'" ~ load['business_date'] ~ "'" ~ (' and _supersedes is null' if marks else '') -%}
        {%- do queries.update({
            'columns': tidemark.planned_columns_sql(slice, marks),
            'samples': tidemark.planned_samples_sql(plan, slice, condition, before, opened['run']['sample_rows']),
            'dates': tidemark.planned_dates_sql(slice, marks, load['business_date']),
        }) -%}
    {%- endif -%}
    {{ return(queries) }}
{%- endmacro -%}
