{#- One stretch of events: typed by what its columns are from its DDL event on, hashed, told apart from what is known, and
    what deriving the log from them needs to be known. -#}
{%- macro events__stage(opened, source, stretch) -%}
    {%- if source.get('staged') -%}{{ return(source['staged']) }}{%- endif -%}
    {%- set landing, batch = source['landing'], tidemark.batch_at(source['batch'], stretch) -%}
    {%- set given, opened = opened, tidemark.opened_after_statement(opened, batch, stretch) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set plan = tidemark.plan_stretch(opened, landing, batch, stretch) -%}
    {%- set given = dict(given, state=dict(given['state'], last_id=state['last_id'], begun=state.get('begun'))) -%}
    {%- set tried = tidemark.tried_stretch(given, plan, source, stretch) -%}
    {%- set opened = tidemark.evolved_for_stretch(opened, plan) -%}
    {%- set now = tidemark.log_as_it_is(opened) -%}
    {%- set known = tidemark.known_events(opened, plan, now) -%}
    {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, known) -%}
    {%- set plan = tidemark.with_sequence_type(opened, plan, landing, stretch, known) -%}
    {%- if plan.get('wider') and tidemark.is_trial(opened['run']) -%}{{ return(none) }}{%- endif -%}
    {%- if plan.get('wider') -%}
        {%- set opened = tidemark.opened_after_widening(opened, plan) -%}
        {%- set now = tidemark.log_as_it_is(opened) -%}
        {#- A view of Spark's refuses an Iceberg table whose columns are not of the types that they had when it was made. -#}
        {%- set known = tidemark.known_events(opened, plan, now) -%}
        {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, known) -%}
    {%- endif -%}
    {%- if opened['run']['empty'] -%}{{ return({'plan': plan, 'figures': {}}) }}{%- endif -%}

    {%- set planned = dict(
        tidemark.plan_event_load(opened, plan, batch, dict(stretch, tried=tried)), log_version=opened['state']['log_version'],
        order_type=tidemark.place_type(cfg, plan['sequence_type'])
    ) -%}
    {%- set arrived = tidemark.staged_events(opened, plan, landing, stretch, dict(planned, now=now, known=known)) -%}
    {%- set load = tidemark.with_what_arrived(opened, planned, now, arrived) -%}
    {%- set before = plan['recorded']['source'] -%}
    {%- set plan = dict(plan, recorded=dict(plan['recorded'], source=dict(
        before, has_moves=before['has_moves'] or load['has_moves'], has_partial_moves=before['has_partial_moves'] or load['has_partial_moves'],
        open_snapshot=load['leaves_open']
    ))) -%}
    {%- if load['late'] and plan['gone'] -%}{%- set plan = dict(plan, kept_gone=plan['gone']) -%}{%- endif -%}
    {%- set figures = tidemark.figures_of_staged(cfg, plan, load, arrived) -%}
    {{ return({
        'plan': plan, 'load': load, 'figures': dict(figures, rows_ignored=batch['ignored'] if stretch['is_last'] else 0,
            rows_read=figures['rows_read'] + (batch['ignored'] if stretch['is_last'] else 0)),
        'source': dict(source, batch=dict(batch, batch_id=load['batch_id'])),
        'files': landing['files'],
        'rejects': {
            'units': ['event', 'events'], 'of': '', 'rows': load['staged'],
            'failed': tidemark.failed_event_values_sql(cfg, plan, landing['events'], stretch) if figures['rows_rejected'] and cfg['on_reject'] == 'fail',
            'samples': 'select _reject_reason, ' ~ tidemark._telling_part_expr(cfg) ~ ' as _raw_payload from ' ~ load['staged']
                ~ ' where _reject_reason is not null order by _reject_reason asc nulls last, _landing_num asc nulls last',
            'advice': 'Mend the events or the declared types (say with meta.tidemark.encodings how a column is written: for ambiguous_unit millis or micros, for ambiguous_encoding hex or base64; for unsigned_too_large declare decimal(20,0))',
        },
    }) }}
{%- endmacro -%}

{#- The batch as it is known within a stretch: what its DDL events have done so far is a copy of its own. The former name of a column is
    refused, as rows from before may bring it, until the source has a column of that name again. -#}
{%- macro batch_at(batch, stretch) -%}
    {%- set statements, refused, renames = [], batch['refused'] | list, dict(batch['renames']) -%}
    {%- set columns = namespace(now=batch['source_columns']) -%}
    {%- for statement in batch['statements'] -%}
        {%- do statements.append(dict(statement)) -%}
        {%- if tidemark.is_within(statement, stretch) -%}
            {%- set columns.now = statement['columns'] -%}
            {%- for change in statement['changes'] if change['kind'] == 'rename_column' and change['policy'] == 'apply' -%}
                {%- do refused.append(change['old']) -%}
            {%- endfor -%}
            {%- for change in statement['changes'] if change['kind'] in ['add_column', 'rename_column'] -%}
                {%- do renames.pop(change['name'], none) -%}
            {%- endfor -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set there = (columns.now or []) | map(attribute='name') | map('lower') | list -%}
    {%- set gone = [] -%}
    {%- for name in refused | unique if name | lower not in there -%}{%- do gone.append(name) -%}{%- endfor -%}
    {{ return(dict(
        batch, statements=statements, source_columns=columns.now, names=batch['names'] | list, refused=gone, renames=renames
    )) }}
{%- endmacro -%}

{#- Whether a DDL event stands in a stretch; the one that begins it does. -#}
{%- macro is_within(statement, stretch) -%}
    {%- set number = statement['landing_num'] -%}
    {{ return((not stretch['from'] or number >= stretch['from']) and (not stretch['to'] or number < stretch['to'])) }}
{%- endmacro -%}

{#- Where the tables are altered for a stretch whose rejects may stop it, it is staged before on what they will be. Returns the number that
    this attempt had, none if there was none. -#}
{%- macro tried_stretch(opened, plan, source, stretch) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if tidemark.most_rejects(cfg, run) == 1 or run['empty'] or run.get('dry_run') or not tidemark.alters_tables(opened, plan) -%}{{ return(none) }}{%- endif -%}
    {%- set trial = tidemark.events__stage(dict(opened, run=dict(run, dry_run=true)), source, stretch) -%}
    {%- if not trial -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.check_load(opened, trial) -%}
    {{ return(trial['load']['commit_id']) }}
{%- endmacro -%}

{#- Whether a dry run is that of tried_stretch() and no plan. -#}
{%- macro is_trial(run) -%}
    {{ return(run.get('dry_run', false) and not run['plan']) }}
{%- endmacro -%}

{#- The entity once its tables are as the plan of a stretch has them. -#}
{%- macro evolved_for_stretch(opened, plan) -%}
    {%- if opened['run'].get('dry_run') -%}{{ return(tidemark.opened_to_come(opened, plan)) }}{%- endif -%}
    {%- set alters = tidemark.alters_tables(opened, plan) -%}
    {%- if alters -%}{%- do tidemark.evolve_tables(opened, plan) -%}{%- endif -%}
    {%- if not opened['state']['first'] and opened['state']['recorded'].get('views_are_old') -%}
        {%- do tidemark.make_history_view(opened['cfg'], plan, opened['relations']) -%}
    {%- endif -%}
    {{ return(tidemark.opened_evolved(opened) if alters else opened) }}
{%- endmacro -%}

{%- macro log_as_it_is(opened) -%}
    {%- if opened['state']['first'] -%}{{ return(opened['relations']) }}{%- endif -%}
    {{ return(dict(opened['relations'], log=tidemark.as_it_is(opened['cfg'], opened['relations']['log'], 'log'))) }}
{%- endmacro -%}

{#- Where the events are that were applied before. -#}
{%- macro known_events(opened, plan, now) -%}
    {%- if opened['state']['first'] -%}{{ return({}) }}{%- endif -%}
    {{ return({'log': now['log'], 'staging': none if plan['keyed'] else tidemark.in_force_of(opened['relations']['staging'], opened['state'])}) }}
{%- endmacro -%}

{#- The plan with the type of what events are ordered by; `wider` what the tables are to hold of it from now on. -#}
{%- macro with_sequence_type(opened, plan, landing, stretch, known) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- if not cfg['sequence_by'] -%}{{ return(plan) }}{%- endif -%}
    {%- set found = tidemark.described_sequence(cfg) -%}
    {%- set sequence = tidemark.sequence_plan(cfg, found, none, plan['guessed_texts']) if state['first']
        else tidemark.sequence_plan(cfg, found, state['recorded'].get('sequence_type')) -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], sequence['errors']) -%}
    {%- do tidemark.check_drift(cfg, sequence['drift'], tidemark._anew_from_events()) -%}
    {%- if sequence['casts'] -%}
        {%- set plan = dict(plan, sequence_casts=sequence['casts']) -%}
        {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, known) -%}
        {%- set found = tidemark.described_sequence(cfg) -%}
    {%- endif -%}
    {{ return(dict(plan, sequence_type=found, recorded=dict(plan['recorded'], sequence_type=found), wider=sequence['wider'])) }}
{%- endmacro -%}

{%- macro described_sequence(cfg) -%}
    {{ return(tidemark.describe_query('select _sequence_by from ' ~ tidemark.run_view(cfg['target'], 'staged'))[0]['type']) }}
{%- endmacro -%}

{#- The entity once its log and current hold what events are ordered by from now on. -#}
{%- macro opened_after_widening(opened, plan) -%}
    {%- if opened['run'].get('dry_run') -%}
        {%- do tidemark.raise_error('data',
            opened['cfg']['entity'] ~ ': what sequence_by orders by is wider than before, which alters the tables: such a load cannot be planned'
        ) -%}
    {%- endif -%}
    {%- do tidemark.widen_sequence(plan, opened['relations']) -%}
    {{ return(dict(opened, state=dict(opened['state'], log_version=none))) }}
{%- endmacro -%}

{%- macro widen_sequence(plan, relations) -%}
    {%- for name in ['log_table', 'current'] -%}
        {%- set present = tidemark.by_name(tidemark.describe_query('select * from ' ~ relations[name])) -%}
        {%- do tidemark.widen_columns(relations[name], [dict(name='_sequence_by', type=plan['sequence_type'], **{'from': present['_sequence_by']['type']})]) -%}
    {%- endfor -%}
    {%- do tidemark.make_history_view({'file_format': tidemark.lake_format()}, plan, relations) -%}
{%- endmacro -%}

{%- macro make_staged_view(cfg, plan, landing, stretch, known) -%}
    {%- set view = tidemark.run_view(cfg['target'], 'staged') -%}
    {%- set sql = tidemark.staged_events_sql(cfg, plan, landing['events'], known, stretch) -%}
    {%- if tidemark.can('parse_expressions') -%}
        {%- if adapter.try_view(view, sql) -%}{{ return(none) }}{%- endif -%}
        {%- do tidemark.check_event_expressions(cfg, plan, landing, stretch) -%}
    {%- endif -%}
    {%- do tidemark.make_view(view, sql) -%}
{%- endmacro -%}

{#- Of a statement that Spark refuses: which setting is to blame, if one is. -#}
{%- macro check_event_expressions(cfg, plan, landing, stretch) -%}
    {%- set errors = [] -%}
    {%- set names = plan['source_columns'] | map(attribute='name') | list + tidemark.event_columns() | map(attribute='name') | list -%}
    {%- for column in landing['columns'] or [] if column['name'] not in names and column['name'] != '_landing_num' -%}
        {%- do names.append(column['name']) -%}
    {%- endfor -%}
    {%- for setting, expression in tidemark.event_expressions(cfg) -%}
        {%- set sql = tidemark.event_expression_sql(plan, landing['events'], stretch, expression) -%}
        {%- do errors.append(tidemark.meaning_problem(setting, expression, sql, 'no event brings and the YAML does not declare', names)) -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors | select | list) -%}
{%- endmacro -%}

{#- What the commit of one stretch is made with. -#}
{%- macro plan_event_load(opened, plan, batch, stretch) -%}
    {%- set run, state = opened['run'], opened['state'] -%}
    {%- set begun = state.get('begun') -%}
    {%- set commit_id = begun['commit_id'] if begun and not run.get('dry_run') else tidemark.next_commit_id(stretch.get('tried') or state['last_id']) -%}
    {%- set business_date = tidemark.date_of_events(run) -%}
    {{ return({
        'commit_id': commit_id,
        'batch_id': commit_id if stretch['is_first'] else batch['batch_id'],
        'kind': 'full_refresh' if run['full_refresh'] and state['recorded'] and stretch['is_first'] else 'load',
        'business_date': business_date,
        'last_commit_id': 0 if state['first'] else state['last_commit_id'],
        'last_date': business_date,
        'last_date_commit_id': commit_id,
        'rebuild': not state['first'] and (tidemark.is_retagged(opened['cfg'], state['recorded']) or tidemark.has_columns_back(opened, plan)),
        'reorders': batch['reorders'] and stretch['is_first'],
        'is_last': stretch['is_last'],
        'begun': begun,
        'statements': tidemark.statements_within(opened, plan, batch, stretch),
    }) }}
{%- endmacro -%}

{#- Whether a column is new by what is recorded and has values in the log: earlier versions recorded none that `columns` left out, and
    current may have lost them. -#}
{%- macro has_columns_back(opened, plan) -%}
    {%- set terms = [] -%}
    {%- for column in plan['added'] if not column['sensitive'] -%}{%- do terms.append(tidemark.quote_identifier(column['name']) ~ ' is not null') -%}{%- endfor -%}
    {{ return(terms | length > 0 and not opened['run'].get('dry_run') and tidemark.has_rows(opened['relations']['log'], terms | join(' or '))) }}
{%- endmacro -%}

{%- macro date_of_events(run) -%}
    {{ return(run['business_date'] or modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%d')) }}
{%- endmacro -%}

{#- The events of a stretch as a table of the run, and what was seen in it: {rows, seen}. -#}
{%- macro staged_events(opened, plan, landing, stretch, load) -%}
    {%- set cfg, first = opened['cfg'], opened['state']['first'] -%}
    {%- set view = tidemark.run_view(cfg['target'], 'staged') -%}
    {%- set rows = tidemark.kept_rows(cfg, plan, load, 'staged_rows', 'select * from ' ~ view) -%}
    {%- set ordered_log = load['now']['log'] if not first and (cfg['sequence_by'] or cfg['format'] == 'canonical') else none -%}
    {%- set seen = tidemark.query_rows(tidemark.staged_figures_sql(plan, rows, ordered_log, tidemark.sequence_expr(cfg)))[0] -%}
    {%- if seen['lone_arrival_count'] | int > 0 and not first -%}
        {#- Changes of the key of which an earlier run has had the delete. -#}
        {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, dict(load['known'], departures=load['now']['log'])) -%}
        {%- set rows = tidemark.kept_rows(cfg, plan, load, 'staged_rows_again', 'select * from ' ~ view) -%}
        {%- set seen = tidemark.query_rows(tidemark.staged_figures_sql(plan, rows, ordered_log, tidemark.sequence_expr(cfg)))[0] -%}
    {%- endif -%}
    {%- if seen['reject_count'] | int > 0 and tidemark.knows_rejects(opened, plan, landing) -%}
        {%- set known = tidemark.in_force_of(opened['relations']['rejects'], opened['state']) -%}
        {%- set condition = "staged._reject_reason like 'tie: %'" if landing['in_files'] else 'staged._reject_reason is not null' -%}
        {%- set rows = tidemark.kept_rows(cfg, plan, load, 'staged_rows_known', tidemark.repeated_rejects_sql(rows, known, condition)) -%}
        {%- set seen = tidemark.query_rows(tidemark.staged_figures_sql(plan, rows, ordered_log, tidemark.sequence_expr(cfg)))[0] -%}
    {%- endif -%}
    {{ return({'rows': rows, 'seen': seen}) }}
{%- endmacro -%}

{#- Whether a reject that comes again can be told from a new one: by its text, which is not kept of sensitive values, where that is no
    accident: a table or SELECT brings all its rows each time, and of lines those that tie are known by their content. -#}
{%- macro knows_rejects(opened, plan, landing) -%}
    {%- if opened['state']['first'] or plan['sensitive'] or not tidemark.relation_exists(opened['relations']['rejects']) -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(not landing['in_files'] or opened['cfg']['on_tie'] == 'reject') }}
{%- endmacro -%}

{#- What deriving the log needs to know of the events that arrived, and where it looks for what stood before them. -#}
{%- macro with_what_arrived(opened, planned, now, arrived) -%}
    {%- set state, staged, seen = opened['state'], arrived['rows'], arrived['seen'] -%}
    {%- set source = state['recorded']['source'] if state['recorded'] and not state['first'] else {} -%}
    {%- set cfg, was_open = opened['cfg'], source.get('open_snapshot') -%}
    {%- set closes_snapshot = tidemark.may_close_snapshot(opened, seen, was_open) -%}
    {#- What a snapshot has read in earlier runs, current does not tell: a row that stayed as it was has its old place there. -#}
    {%- set read = tidemark.query_rows(tidemark.read_before_sql(cfg, now['log'], staged, was_open))[0] if closes_snapshot and not state['first'] else {} -%}
    {%- set closes_snapshot = closes_snapshot and (not read.get('spans_runs') or read['has_more']) -%}
    {%- set is_overtaken = not state['first'] and tidemark.comes_late(now, staged, state, seen) -%}
    {%- set late = planned['reorders'] or is_overtaken or (not state['first'] and (
        (closes_snapshot and read['spans_runs']) or (tidemark.counts_below_zero(cfg) and tidemark.owes_copies(now, staged))
        or (seen['has_reads'] and tidemark.reads_on(cfg, now, staged))
    )) -%}
    {%- set effects = planned['statements'] | map(attribute='effect') | list -%}
    {{ return(dict(
        planned, staged=staged, late=late, forward=not late, open_snapshot=was_open,
        leaves_open=tidemark.opened_snapshot(opened, planned, seen, was_open, is_overtaken), log=none if state['first'] else now['log'],
        now=now if state['first'] else dict(now, current=tidemark.as_it_is(cfg, opened['relations']['current'], 'current')),
        moves=late or seen['move_count'] | int > 0, fills=late or 'fill' in effects, closes_snapshot=closes_snapshot,
        carried=fromjson(seen['unsupplied'] or '[]'),
        table_events=effects | length > 0 or seen['truncate_count'] | int > 0 or closes_snapshot or late,
        everything=planned['reorders'] or seen['truncate_count'] | int > 0 or closes_snapshot or 'fill' in effects or 'close' in effects,
        has_moves=seen['move_count'] | int > 0,
        has_partial_moves=seen['partial_move_count'] | int > 0 or (late and source.get('has_partial_moves', false)),
        linked=tidemark.linked_keys(cfg, now, staged, planned['commit_id']) if late and source.get('has_partial_moves') else none
    )) }}
{%- endmacro -%}

{%- macro figures_of_staged(cfg, plan, load, arrived) -%}
    {%- set seen = arrived['seen'] -%}
    {%- set tied = 0 -%}
    {%- if plan['keyed'] and tidemark.can_tie(cfg) -%}
        {%- set tied = tidemark.query_rows(tidemark.tied_rows_sql(cfg, plan, load['now'], arrived['rows'], load))[0]['row_count'] | int -%}
    {%- endif -%}
    {{ return(dict(
        tidemark.no_event_figures(), rows_read=seen['row_count'] | int, rows_rejected=seen['reject_count'] | int,
        rows_duplicate=seen['duplicate_count'] | int, rows_tied=tied,
        first_sequence_num=seen['first_num'], last_sequence_num=seen['last_num']
    )) }}
{%- endmacro -%}

{%- macro no_event_figures() -%}
    {{ return(dict.fromkeys([
        'rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted', 'rows_unchanged', 'rows_not_supplied',
        'rows_rejected', 'rows_duplicate', 'rows_ignored', 'rows_tied', 'rows_logged', 'rows_superseded',
    ], 0)) }}
{%- endmacro -%}

{#- The keys that late events can change through moves that did not bring every column: those that a row went to from a
    touched key, or came from, step by step. Each step takes at least one link along, so that there are no more of them. -#}
{%- macro linked_keys(cfg, relations, staged, commit_id) -%}
    {%- set links = '(select _key_hash, _moved_from from ' ~ relations['log'] ~ " where _source_operation = 'MOVE_IN' and size(_unsupplied) > 0 and "
        ~ tidemark.in_force_expr() ~ ')' -%}
    {%- set first = tidemark.make_slice(cfg['target'], commit_id, 'linked_0',
        'select _key_hash from ' ~ staged ~ ' where _is_usable and _key_hash is not null union select _before_key_hash from '
        ~ staged ~ ' where _is_usable and _before_key_hash is not null') -%}
    {%- set step = namespace(relation=first, count=tidemark.row_count(first)) -%}
    {%- for number in tidemark.steps_at_most(tidemark.row_count(links)) -%}
        {%- set sql = 'select _key_hash from ' ~ step.relation
            ~ ' union select links._key_hash from ' ~ links ~ ' as links left semi join ' ~ step.relation ~ ' as keys on links._moved_from = keys._key_hash'
            ~ ' union select links._moved_from from ' ~ links ~ ' as links left semi join ' ~ step.relation ~ ' as keys on links._key_hash = keys._key_hash' -%}
        {%- set next = tidemark.make_slice(cfg['target'], commit_id, 'linked_' ~ number, sql) -%}
        {%- set count = tidemark.row_count(next) -%}
        {%- if count == step.count -%}{{ return(next) }}{%- endif -%}
        {%- set step.relation = next -%}
        {%- set step.count = count -%}
    {%- endfor -%}
    {%- do tidemark.raise_unsettled(cfg) -%}
{%- endmacro -%}

{#- The numbers of steps of which each settles one of so many moves, and of the one that finds all settled; Jinja counts to 100,000. -#}
{%- macro steps_at_most(moves) -%}
    {{ return(range(1, [moves + 2, 100001] | min)) }}
{%- endmacro -%}

{#- Changes of keys that lead to no end are an error of ours, or the log changes meanwhile. -#}
{%- macro raise_unsettled(cfg) -%}
    {%- do tidemark.raise_error('data',
        cfg['entity'] ~ ': what rows had under their old keys cannot be settled, though every change of a key that leaves columns out was followed; '
        ~ 'nothing was written. Run it again; if it stops here again, begin anew ' ~ tidemark._anew_from_events()
    ) -%}
{%- endmacro -%}

{#- Rows of staging or rejects of commits that were not rolled back. -#}
{%- macro in_force_of(relation, state) -%}
    {%- if not state['undone'] -%}{{ return(relation) }}{%- endif -%}
    {{ return('(select * from ' ~ relation ~ ' where _commit_id not in (' ~ state['undone'] | join(', ') ~ '))') }}
{%- endmacro -%}

{#- Whether some event belongs before one that was applied, or goes on with a transaction whose moves were, or brings a row
    that an earlier run has seen depart from its old key, where the values are that it does not bring. -#}
{%- macro comes_late(relations, staged, state, seen) -%}
    {%- if seen['late_count'] | int > 0 -%}{{ return(true) }}{%- endif -%}
    {%- if seen['partial_move_count'] | int > 0 and run_query(
        'select 1 from ' ~ staged ~ ' as arrivals left anti join (select _key_hash, _offset from ' ~ staged
        ~ " where _is_usable and _tidemark_effect = 'delete') as departures"
        ~ ' on arrivals._before_key_hash = departures._key_hash and arrivals._offset <=> departures._offset'
        ~ ' where arrivals._is_usable and arrivals._tidemark_is_pair and size(arrivals._unsupplied) > 0 limit 1'
    ) | length > 0 -%}
        {{ return(true) }}
    {%- endif -%}
    {%- if state['recorded']['source'].get('has_moves') and seen['departure_count'] | int > 0 -%}
        {{ return(run_query('select 1 from ' ~ relations['log'] ~ " where _source_operation = 'MOVE_IN' and _transaction_id in (select _transaction_id from "
            ~ staged ~ ' where _is_usable) limit 1') | length > 0) }}
    {%- endif -%}
    {{ return(false) }}
{%- endmacro -%}

{#- Whether the log has deletes of copies that are not there, whose inserts are still to come, of rows that the batch touches: current does
    not know of them. -#}
{%- macro owes_copies(relations, staged) -%}
    {{ return(run_query(
        'select 1 from ' ~ relations['log'] ~ ' as log left semi join (select _row_hash from ' ~ staged ~ ' where _is_usable union all '
        ~ 'select _before_row_hash from ' ~ staged ~ ' where _is_usable) as touched on log._row_hash = touched._row_hash'
        ~ " where log._operation = 'N' and " ~ tidemark.in_force_expr(alias='log')
        ~ " group by log._row_hash having count_if(log._source_operation in ('DELETE', 'MOVE_OUT'))"
        ~ " > count_if(log._source_operation in ('INSERT', 'UPSERT', 'MOVE_IN')) limit 1"
    ) | length > 0) }}
{%- endmacro -%}

{#- Whether the batch has rows without key that are equal to some that the same snapshot has read in an earlier run: only together they tell
    how many there are. Those of Debezium are numbered as they come. -#}
{%- macro reads_on(cfg, relations, staged) -%}
    {%- if cfg['keys'] or cfg['format'] == 'debezium' -%}{{ return(false) }}{%- endif -%}
    {{ return(run_query(
        'select 1 from ' ~ relations['log'] ~ ' as log left semi join (select _row_hash, _offset from ' ~ staged
        ~ " where _is_usable and _source_operation = 'READ') as read on log._row_hash = read._row_hash and log._offset <=> read._offset"
        ~ " where log._source_operation = 'READ' and " ~ tidemark.in_force_expr(alias='log') ~ ' limit 1'
    ) | length > 0) }}
{%- endmacro -%}

{#- Of an envelope the values: what stands before the images, a schema above all, would fill a message. -#}
{%- macro _telling_part_expr(cfg) -%}
    {%- if cfg['format'] != 'debezium' -%}{{ return('_raw_payload') }}{%- endif -%}
    {{ return("if(_raw_payload like '%\"before\":%', concat('… ', substring(_raw_payload, position('\"before\":' in _raw_payload))), _raw_payload)") }}
{%- endmacro -%}
