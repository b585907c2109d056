{#-
    Stage one stretch of events, cached, and find out what deriving the log from them needs. Returns the figures of the
    stretch; `load` gets the flags, `plan` the type of the sequence.
-#}
{%- macro stage_events(cfg, plan, run, state, relations, landing, load, stretch) -%}
    {%- set staged_view = tidemark.run_view(cfg['target'], 'staged') -%}
    {%- if not state['first'] -%}
        {%- do tidemark.evolve_tables(cfg, plan, state, relations) -%}
        {%- if state['recorded'].pop('views_are_old', false) -%}
            {%- do tidemark.make_history_view(cfg, plan, relations) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set now = relations if state['first'] else dict(relations, log=tidemark.as_it_is(cfg, relations['log'], 'log')) -%}
    {%- set known = {} if state['first'] else {'log': now['log'], 'staging': none if plan['keyed'] else tidemark.staging_in_force_expr(relations, state)} -%}
    {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, staged_view, known) -%}
    {%- if cfg['sequence_by'] -%}
        {%- do plan.update({'sequence_type': tidemark.described_sequence(staged_view)}) -%}
        {%- set sequence = tidemark.sequence_plan(cfg, plan['sequence_type'], none if state['first'] else state['recorded'].get('sequence_type')) -%}
        {%- do tidemark._raise_config_errors(cfg['entity'], sequence['errors']) -%}
        {%- do tidemark.raise_drift(cfg, sequence['drift']) -%}
        {%- if sequence['casts'] -%}
            {%- do plan.update({'sequence_casts': sequence['casts']}) -%}
            {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, staged_view, known) -%}
            {%- do plan.update({'sequence_type': tidemark.described_sequence(staged_view)}) -%}
        {%- endif -%}
        {%- do plan['recorded'].update({'sequence_type': plan['sequence_type']}) -%}
        {%- if sequence['wider'] -%}
            {%- do tidemark.widen_sequence(plan, state, relations, sequence['wider']) -%}
            {%- set now = dict(relations, log=tidemark.as_it_is(cfg, relations['log'], 'log')) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do load.update({'order_type': tidemark.place_type(cfg, plan['sequence_type'])}) -%}
    {%- if run['empty'] -%}{{ return(tidemark.no_event_figures()) }}{%- endif -%}

    {%- set staged = tidemark.kept_rows(cfg, plan, load, 'staged_rows', 'select * from ' ~ staged_view) -%}
    {%- set ordered_log = now['log'] if not state['first'] and (cfg['sequence_by'] or cfg['format'] == 'canonical') else none -%}
    {%- set seen = tidemark.query_rows(tidemark.staged_figures_sql(plan, staged, ordered_log, tidemark.sequence_expr(cfg)))[0] -%}
    {%- if seen['lone_arrival_count'] | int > 0 and not state['first'] -%}
        {#- Changes of the key of which an earlier run has had the delete. -#}
        {%- do tidemark.make_staged_view(cfg, plan, landing, stretch, staged_view, dict(known, departures=now['log'])) -%}
        {%- set staged = tidemark.kept_rows(cfg, plan, load, 'staged_rows_again', 'select * from ' ~ staged_view) -%}
        {%- set seen = tidemark.query_rows(tidemark.staged_figures_sql(plan, staged, ordered_log, tidemark.sequence_expr(cfg)))[0] -%}
    {%- endif -%}
    {%- do load.update({'staged': staged}) -%}
    {%- set figures = tidemark.no_event_figures() -%}
    {%- do figures.update({
        'rows_read': seen['row_count'] | int, 'rows_rejected': seen['reject_count'] | int, 'rows_duplicate': seen['duplicate_count'] | int,
        'first_sequence_num': seen['first_num'], 'last_sequence_num': seen['last_num'],
    }) -%}
    {%- if figures['rows_rejected'] -%}
        {%- do figures.update({'rejects': tidemark.query_rows(
            'select _reject_reason as reason, count(*) as count from ' ~ staged
            ~ ' where _reject_reason is not null group by _reject_reason order by count(*) desc nulls last, _reject_reason asc nulls last'
        )}) -%}
    {%- endif -%}
    {%- set late = load['reorders'] or (not state['first'] and tidemark.comes_late(now, staged, state, seen)) -%}
    {%- set fills = load['statements'] | selectattr('effect', 'equalto', 'fill') | list -%}
    {%- set closes = load['statements'] | selectattr('effect', 'equalto', 'close') | list -%}
    {%- set carried = fromjson(seen['unsupplied'] or '[]') -%}
    {#- In a first batch too: a snapshot that was cut and began again may have read what was gone the second time. -#}
    {%- set closes_snapshot = seen['has_snapshot'] if not state['first'] else seen['snapshot_count'] | int > 1 -%}
    {%- do load.update({
        'late': late,
        'forward': not late,
        'log': none if state['first'] else now['log'],
        'now': now if state['first'] else dict(now, current=tidemark.as_it_is(cfg, relations['current'], 'current')),
        'moves': late or seen['move_count'] | int > 0,
        'fills': fills | length > 0 or late,
        'closes_snapshot': closes_snapshot,
        'carried': plan['columns'] | map(attribute='name') | list if late else carried,
        'table_events': load['statements'] | length > 0 or seen['truncate_count'] | int > 0 or closes_snapshot or late,
        'everything': load['reorders'] or seen['truncate_count'] | int > 0 or closes_snapshot or fills | length > 0 or closes | length > 0,
        'linked': none,
        'has_moves': seen['move_count'] | int > 0,
        'has_partial_moves': seen['partial_move_count'] | int > 0 or (late and state['recorded']['source'].get('has_partial_moves', false)),
    }) -%}
    {%- for name in ['has_moves', 'has_partial_moves'] if load[name] -%}
        {%- do plan['recorded']['source'].update({name: true}) -%}
    {%- endfor -%}
    {%- if plan['keyed'] and tidemark.can_tie(cfg) -%}
        {%- do figures.update({'rows_tied': tidemark.query_rows(tidemark.tied_rows_sql(cfg, plan, now, staged, load))[0]['row_count'] | int}) -%}
    {%- endif -%}
    {%- if late and state['recorded']['source'].get('has_partial_moves') -%}
        {%- do load.update({'linked': tidemark.linked_keys(now, staged, load['commit_id'])}) -%}
    {%- endif -%}
    {{ return(figures) }}
{%- endmacro -%}


{%- macro described_sequence(view) -%}
    {{ return(tidemark.describe_query('select _sequence_by from ' ~ view)[0]['type']) }}
{%- endmacro -%}


{#- Let the log and current hold what events are ordered by from now on. -#}
{%- macro widen_sequence(plan, state, relations, wider) -%}
    {%- for name in ['log_table', 'current'] -%}
        {%- for field, type in wider.items() -%}
            {%- do run_query('alter table ' ~ relations[name] ~ ' alter column _sequence_by.' ~ field ~ ' type ' ~ type) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do tidemark.make_history_view({'file_format': 'delta'}, plan, relations) -%}
    {%- do state.update({'log_version': none}) -%}
{%- endmacro -%}


{%- macro make_staged_view(cfg, plan, landing, stretch, view, known) -%}
    {%- do run_query('drop view if exists ' ~ view) -%}
    {%- do run_query('create or replace temporary view ' ~ view ~ ' as\n' ~ tidemark.staged_events_sql(cfg, plan, landing['events'], known, stretch)) -%}
{%- endmacro -%}


{#-
    The keys that late events can change through moves that did not bring every column: those that a row went to from a
    touched key, or came from, step by step.
-#}
{%- macro linked_keys(relations, staged, commit_id) -%}
    {%- set links = '(select _key_hash, _moved_from from ' ~ relations['log'] ~ " where _source_operation = 'MOVE_IN' and size(_unsupplied) > 0 and "
        ~ tidemark.in_force_expr() ~ ')' -%}
    {%- set step = namespace(count=-1, relation=none) -%}
    {%- for number in range(100) -%}
        {%- if number == 0 -%}
            {%- set sql = 'select _key_hash from ' ~ staged ~ ' where _is_usable and _key_hash is not null union select _before_key_hash from '
                ~ staged ~ ' where _is_usable and _before_key_hash is not null' -%}
        {%- else -%}
            {%- set sql = 'select _key_hash from ' ~ step.relation
                ~ ' union select links._key_hash from ' ~ links ~ ' as links left semi join ' ~ step.relation ~ ' as keys on links._moved_from = keys._key_hash'
                ~ ' union select links._moved_from from ' ~ links ~ ' as links left semi join ' ~ step.relation ~ ' as keys on links._key_hash = keys._key_hash' -%}
        {%- endif -%}
        {%- set next = tidemark.make_slice(relations['current'], commit_id, 'linked_' ~ number, sql) -%}
        {%- set count = run_query('select count(*) from ' ~ next)[0][0] | int -%}
        {%- set step.relation = next -%}
        {%- if count == step.count -%}{{ return(next) }}{%- endif -%}
        {%- set step.count = count -%}
    {%- endfor -%}
    {{ return(step.relation) }}
{%- endmacro -%}


{#- The staging of commits that no rollback undid. -#}
{%- macro staging_in_force_expr(relations, state) -%}
    {%- if not state['undone'] -%}{{ return(relations['staging']) }}{%- endif -%}
    {{ return('(select * from ' ~ relations['staging'] ~ ' where _commit_id not in (' ~ state['undone'] | join(', ') ~ '))') }}
{%- endmacro -%}


{#-
    Whether the log is to be put in another order: it was made with an `on_tie` that orders otherwise, and has ties. Every log that does
    not tell was made by their content.
-#}
{%- macro reorders_ties(cfg, run, state, relations) -%}
    {%- if state['first'] or run['empty'] or not tidemark.can_tie(cfg) or (state['recorded'].get('on_tie', 'content') == 'content') == (cfg['on_tie'] == 'content') -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(run_query(tidemark.any_tie_sql(cfg, {'keyed': cfg['keys'] | length > 0}, relations)) | length > 0) }}
{%- endmacro -%}


{#-
    Whether some event belongs before one that was applied, or goes on with a transaction whose moves were, or brings a row
    that an earlier run has seen depart from its old key, where the values are that it does not bring.
-#}
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


{#- Stop a run whose batch has events that cannot be used, unless they go to quarantine. -#}
{%- macro check_event_rejects(cfg, run, load, figures) -%}
    {%- if figures['rows_rejected'] and cfg['on_reject'] == 'fail' -%}
        {%- set samples = tidemark.query_rows(
            'select _reject_reason, ' ~ tidemark._telling_part_expr(cfg) ~ ' as _raw_payload from ' ~ load['staged']
            ~ ' where _reject_reason is not null order by _reject_reason asc nulls last, _landing_num asc nulls last limit ' ~ run['sample_rows']
        ) -%}
        {%- do tidemark.raise_rejects(
            cfg, figures, ['event', 'events'], figures['rejects'], samples,
            'Mend the events or the declared types (say with meta.tidemark.encodings how a column is written: for ambiguous_unit millis or micros, for ambiguous_encoding hex or base64)'
        ) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Of an envelope the values: what stands before the images, a schema above all, would fill a message. -#}
{%- macro _telling_part_expr(cfg) -%}
    {%- if cfg['format'] != 'debezium' -%}{{ return('_raw_payload') }}{%- endif -%}
    {{ return("if(_raw_payload like '%\"before\":%', concat('… ', substring(_raw_payload, position('\"before\":' in _raw_payload))), _raw_payload)") }}
{%- endmacro -%}
