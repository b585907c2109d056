{#- Type, hash and compare the extract of a date with what stood before it. Nothing of a first load is written yet. -#}
{%- macro extract__stage(opened, source, part) -%}
    {%- if not source.get('files') or opened['state'].get('is_evolved') -%}{{ return(tidemark.stage_by_spark(opened, source)) }}{%- endif -%}
    {{ return(
        tidemark.stage_in_workers(opened, source) or tidemark.stage_by_spark(opened, tidemark.source_of_spark(opened, source['body']))
    ) }}
{%- endmacro -%}

{#- By Spark. Of tables that the load is going to alter it sees what they will be; what it keeps of them as a cached view is staged again
    when they are altered. -#}
{%- macro stage_by_spark(opened, source) -%}
    {%- set cfg, run, state = opened['cfg'], opened['run'], opened['state'] -%}
    {%- set plan = tidemark.plan_extract(opened, source) -%}
    {%- do tidemark.make_view(tidemark.run_view(cfg['target'], 'staged'), tidemark.staged_rows_sql(cfg, plan, source['body'])) -%}
    {%- if run['empty'] -%}{{ return({'plan': plan, 'figures': {}}) }}{%- endif -%}
    {%- set planned = tidemark.plan_load(cfg, run, state) -%}
    {%- set alters = tidemark.alters_tables(opened, plan) -%}
    {%- set opened = tidemark.opened_to_come(opened, plan) if alters else opened -%}
    {%- set load = dict(
        planned, log_version=opened['state']['log_version'], mends_rejects=planned['this_commit_id'] is not none,
        existing=none if state['first'] else tidemark.make_existing_view(opened, plan, planned)
    ) -%}
    {%- set staged = tidemark.stage_changes(opened, plan, load) or tidemark.classify(opened, plan, load) -%}
    {%- if staged['figures']['rows_rejected'] and cfg['on_reject'] == 'fail' -%}{%- do staged['rejects'].update({'failed': tidemark.failed_values_sql(cfg, plan, source['body'])}) -%}{%- endif -%}
    {{ return(dict(staged, alters=alters, again=alters and plan['sensitive'] | length > 0)) }}
{%- endmacro -%}

{#- What becomes of each column; an error for what a user can mend: a column that is not there, a configuration that is not the log's,
    bytes that cannot be read. -#}
{%- macro plan_extract(opened, source) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set recorded = none if run['full_refresh'] else opened['state']['recorded'] -%}
    {%- if recorded -%}
        {%- set recorded = dict(
            recorded, not_yet=tidemark.columns_not_yet(opened, source), is_past=(run['business_date'] or '') <= (opened['state']['last_date'] or '')
        ) -%}
    {%- endif -%}
    {%- set plan = tidemark.column_plan(cfg, source['columns'], tidemark.declared_types(cfg), recorded, source['origin']) -%}
    {%- do tidemark.type_compared_values(cfg, plan) -%}
    {%- do tidemark.check_malformed(cfg, plan, source) -%}
    {%- set file_names = source['file_names'] | reject('equalto', '_malformed') | list -%}
    {%- set plan = dict(plan, recorded=dict(
        plan['recorded'], left_out=tidemark.left_out_columns(file_names, source['columns'], recorded), **tidemark.pepper_of(cfg, plan)
    )) -%}
    {%- if recorded -%}
        {%- do tidemark.check_drift(cfg, tidemark.config_drift(cfg, plan, recorded, source['origin']),
            'with --full-refresh (the old one is kept), or, where only '
            ~ 'hash or what is compared (ignore, compare, compare_as) changed, give the log its new hashes: '
            ~ 'dbt run-operation rehash --args \'{entity: ' ~ cfg['entity'] ~ '}\'') -%}
    {%- endif -%}
    {{ return(plan) }}
{%- endmacro -%}

{#- Which columns, in lower case, the extract lacks because they came later: no load in force of its date, or of one before it, had them.
    So a date from before loads again as it was, with NULL in their place; so it does where JSON, or a SELECT, yields a column of later
    that the file does not have. -#}
{%- macro columns_not_yet(opened, source) -%}
    {%- set state, date = opened['state'], opened['run']['business_date'] -%}
    {%- set arrived = source['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set in_files = source['file_names'] | map('lower') | list -%}
    {%- set declared = opened['cfg']['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set absent, yielded = [], [] -%}
    {%- for column in state['recorded']['columns'] -%}
        {%- set name = column['name'] | lower -%}
        {%- if name in arrived and name not in in_files and column['role'] != 'key' and (date or '') <= (state['last_date'] or '') -%}
            {%- do yielded.append(name) -%}
        {%- elif name not in arrived and (name in declared or not (column['role'] == 'ignored' or column.get('dropped'))) -%}
            {%- do absent.append(name) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not absent and not yielded -%}{{ return([]) }}{%- endif -%}
    {#- Before all dates: what the first of them has did not come later. -#}
    {%- set is_first = state['previous_date'] is none and state['this_commit_id'] is none -%}
    {%- set until = (state['later_loads'] | map(attribute='business_date') | min) if is_first and state['later_loads'] else date -%}
    {%- set seen = [] -%}
    {%- for had in tidemark.json_rows(tidemark.configs_until_sql(opened['commits']['states'], opened['cfg']['relation'], until)) -%}
        {%- do seen.extend(had['columns'] | map(attribute='name') | reject('in', had.get('lacks', [])) | map('lower') | list) -%}
    {%- endfor -%}
    {{ return((absent if is_first else absent | reject('in', seen) | list) + yielded | reject('in', seen) | list) }}
{%- endmacro -%}

{#- Find out the types of what is compared in place of a column's value. -#}
{%- macro type_compared_values(cfg, plan) -%}
    {%- set terms, errors = [], [] -%}
    {%- for column in plan['compared'] if column.get('compare_as') -%}
        {%- set term = tidemark.compared_value_expr(column, 'cast(null as ' ~ tidemark.quoted_type(column['type']) ~ ')') -%}
        {%- if tidemark.can('parse_expressions') -%}
            {%- do errors.append(tidemark.meaning_problem(
                'column `' ~ column['name'] ~ '`: meta.tidemark.compare_as', column['compare_as'], 'select ' ~ term,
                'it does not see: it is an expression of the column alone', [column['name']]
            )) -%}
        {%- endif -%}
        {%- do terms.append(term ~ ' as ' ~ tidemark.quote_identifier(column['name'])) -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors | select | list) -%}
    {%- if terms -%}
        {%- for typed in tidemark.describe_query('select ' ~ terms | join(', ')) -%}
            {%- for column in plan['compared'] if column['name'] == typed['name'] -%}
                {%- do column.update({'compare_type': typed['type']}) -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{#- A body that leaves out `_malformed` would take what could not be read for NULL. -#}
{%- macro check_malformed(cfg, plan, source) -%}
    {%- if '_malformed' in source['file_names'] and '_malformed' not in plan['supplied'] -%}
        {%- set rows = run_query('select _malformed from ' ~ tidemark.run_view(cfg['target'], 'extract') ~ ' where _malformed is not null limit 1') -%}
        {%- if rows | length -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': the extract' ~ source['origin'] ~ ' has bytes that cannot be read; nothing was written'
                ~ ('' if plan['sensitive'] else '\n  - ' ~ rows[0][0][:300])
                ~ '\nSay which encoding it has (options: {encoding: windows-1252} in meta.tidemark), or add `_unreadable` and `_malformed` '
                ~ 'to the SELECT of the model, so that such rows are rejects'
            ) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- The view of what stood before the date. -#}
{%- macro make_existing_view(opened, plan, load) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set existing = tidemark.run_view(cfg['target'], 'existing') -%}
    {%- do tidemark.make_view(existing, (
        tidemark.existing_rows_sql(cfg, plan, dict(relations, current=tidemark.as_it_is(cfg, relations['current'], 'current'))) if load['forward']
        else tidemark.state_at_sql(plan, relations, load['previous_date'])
    )) -%}
    {{ return(existing) }}
{%- endmacro -%}

{#- Compare what is staged with what stood before the date and write what changed straight into the log, where no commit names it yet.
    None where what changed has to be read again before the log has it: to correct dates, to show rejects, for what goes beside the log. -#}
{%- macro stage_changes(opened, plan, load) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- if cfg['extract'] != 'full' or cfg['on_reject'] != 'fail' or not tidemark.can_stage_changes(plan, load) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set rows = tidemark.classified_rows_sql(cfg, plan, tidemark.run_view(cfg['target'], 'staged'), load['existing'], none) -%}
    {%- set uncommitted = adapter.stage_rows(
        opened['relations']['log'], load['log_version'], rows, tidemark.figures_of_changes(), tidemark.staged_changes_sql(plan, '{counted}', load)
    ) -%}
    {%- set counted = uncommitted.figures -%}
    {%- if counted['rows_rejected'] -%}
        {%- do adapter.discard_rows(uncommitted) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do tidemark.check_staged(cfg, uncommitted, counted['rows_inserted'] + counted['rows_updated'] + counted['rows_deleted']) -%}
    {{ return({
        'plan': plan, 'load': load, 'uncommitted': uncommitted, 'rejects': {},
        'figures': dict(counted, rows_logged=uncommitted.rows, rows_superseded=0, rows_not_supplied=0),
    }) }}
{%- endmacro -%}

{#- Compare what is staged with what stood before the date, and count. The extract is read once: what changed is kept as a table of the
    run, `load['classified']`. -#}
{%- macro classify(opened, plan, load) -%}
    {%- set cfg, existing = opened['cfg'], load['existing'] -%}
    {%- set staged = tidemark.run_view(cfg['target'], 'staged') -%}
    {#- Of current as it is Delta knows the number of rows. -#}
    {%- set keeps_deleted = cfg['soft_delete'] or (opened['state']['recorded'] or {}).get('soft_delete') -%}
    {%- set counted = opened['relations']['current'] if existing and load['forward'] and not keeps_deleted else existing -%}
    {%- if existing and cfg['extract'] == 'delta' -%}
        {%- set staged = tidemark.kept_rows(cfg, plan, load, 'staged_rows', 'select * from ' ~ staged) -%}
    {%- endif -%}
    {%- set classified = tidemark.kept_rows(
        cfg, plan, load, 'classified', tidemark.classified_rows_sql(cfg, plan, staged, existing, load['business_date'])
    ) -%}
    {%- set figures = tidemark.figures_of_classified(cfg, tidemark.query_rows(tidemark.count_changes_sql(classified, counted))) -%}
    {%- set load = dict(load, classified=classified) -%}
    {%- set figures = tidemark.with_keys_here(opened, load, dict(figures, new_rejects=tidemark.count_new_rejects(opened['relations'], load, figures))) -%}
    {%- set rejected = tidemark.rejected_rows_sql(classified) -%}
    {{ return({
        'plan': plan, 'load': load, 'uncommitted': none, 'figures': figures,
        'rejects': {
            'units': ['row', 'rows'], 'of': ' of business date ' ~ load['business_date'], 'rows': '(' ~ rejected ~ ')',
            'samples': rejected ~ '\norder by _reject_reason, _raw_payload', 'advice': tidemark._mending(cfg, plan, figures['reasons']),
        },
    }) }}
{%- endmacro -%}

{%- macro figures_of_classified(cfg, rows) -%}
    {%- set keys = {'I': 0, 'U': 0, 'D': 0, 'N': 0} -%}
    {%- set reasons = [] -%}
    {%- set totals = namespace(existing=0, matched=0, read=0, rejected=0, duplicate=0) -%}
    {%- for row in rows -%}
        {%- set row_count, copies = row['row_count'] | int, row['copies'] | int -%}
        {%- if row['operation'] == 'existing' -%}
            {%- set totals.existing = row['existing_count'] | int -%}
        {%- elif row['operation'] == 'R' -%}
            {%- do reasons.append(row['reason']) -%}
            {%- set totals.rejected, totals.read = totals.rejected + row_count, totals.read + row_count -%}
            {%- set totals.matched = totals.matched + row['existing_count'] | int -%}
        {%- else -%}
            {%- do keys.update({row['operation']: row_count}) -%}
            {%- set totals.read, totals.matched = totals.read + copies, totals.matched + row['existing_count'] | int -%}
            {%- if row['operation'] != 'D' -%}{%- set totals.duplicate = totals.duplicate + copies - row_count -%}{%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {#- Rows that stood before and were not met: of a full extract they came as they were, once each. -#}
    {%- set left = totals.existing - totals.matched -%}
    {%- set unchanged = left if cfg['extract'] == 'full' else 0 -%}
    {{ return({
        'rows_read': totals.read + unchanged,
        'rows_inserted': keys['I'],
        'rows_updated': keys['U'],
        'rows_deleted': keys['D'],
        'rows_unchanged': keys['N'] + unchanged,
        'rows_not_supplied': left - unchanged,
        'rows_rejected': totals.rejected,
        'rows_duplicate': totals.duplicate,
        'existing': totals.existing,
        'reasons': reasons,
    }) }}
{%- endmacro -%}

{#- How to mend rows that were rejected: where some are in another encoding, that can be declared. -#}
{%- macro _mending(cfg, plan, reasons) -%}
    {%- if '_malformed' in plan['supplied'] and 'unreadable' in reasons -%}
        {{ return('Mend the extract' ~ (', which must be UTF-8' if cfg['format'] == 'json'
            else ', say which encoding it has (options: {encoding: windows-1252} in meta.tidemark)')) }}
    {%- endif -%}
    {{ return('Mend the extract') }}
{%- endmacro -%}
