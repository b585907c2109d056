{#- The rows of the log that a stretch brings, and what goes beside them. -#}
{%- macro events__derive(opened, staged, commit) -%}
    {%- set plan, files, is_first = staged['plan'], staged['files'], opened['state']['first'] -%}
    {%- set load = dict(staged['load'], log_version=tidemark.version_to_append(opened, staged['load'])) -%}
    {%- set figures = staged['figures'] -%}
    {%- if not files and not figures['rows_read'] and not load['statements'] and not load['reorders'] and not load['rebuild'] and load['kind'] == 'load' -%}
        {{ return({'outcome': 'nothing', 'load': dict(load, last_sequence_num=opened['state']['last_sequence_num']), 'figures': figures}) }}
    {%- endif -%}
    {%- set before = opened['state']['last_sequence_num'] -%}
    {%- set load = dict(load, last_sequence_num=figures['last_sequence_num'] if is_first or before is none
        else [figures['last_sequence_num'] or 0, before] | max) -%}
    {%- set in_workers = staged.get('uncommitted') or staged.get('kept') -%}
    {%- set rows = tidemark.replayed_by_workers(opened, staged, load) if in_workers else tidemark.replay(opened, plan, load) -%}
    {%- set figures = dict(figures, **rows['counts']) -%}
    {%- set numbers = dict(
        tidemark.versions_before(opened, load), batch_id=load['batch_id'], first_sequence_num=figures['first_sequence_num'],
        last_sequence_num=load['last_sequence_num'], **({'last_file': files[-1]['_file']} if files else {})
    ) -%}
    {#- Nothing but events that are known already, or that are no change: only the files are remembered. -#}
    {%- set is_new = figures['rows_logged'] or figures['rows_superseded'] or figures['rows_rejected'] or load['kind'] != 'load' or load['rebuild'] or is_first -%}
    {%- set outcome = 'repeat' if files or load['reorders'] else 'nothing' -%}
    {%- set outcome = 'commit' if is_new else outcome -%}
    {{ return({
        'outcome': outcome, 'load': load, 'figures': figures, 'numbers': numbers, 'files': files,
        'uncommitted': rows['uncommitted'], 'slice': rows['slice'], 'beside': [] if in_workers else tidemark.beside_events(opened, plan, load, figures, rows),
    }) }}
{%- endmacro -%}

{#- Derive what the stretch adds to the log: straight into files of the log that no commit names yet, or, where the log
    is corrected too, into a table of its own, as it is read several times while tables change. `rows` is a view with all
    columns, `counts` are figures. -#}
{%- macro replay(opened, plan, load) -%}
    {%- set cfg, replayed = opened['cfg'], tidemark.run_view(opened['cfg']['target'], 'replayed') -%}
    {%- do tidemark.make_view(replayed, tidemark.replayed_sql(opened, plan, load), plan['sensitive']) -%}
    {%- if tidemark.can_stage_changes(plan, load) -%}
        {%- set uncommitted = tidemark.staged_log_rows(opened, plan, load, replayed, tidemark.figures_of_events()) -%}
        {%- do tidemark.check_staged(cfg, uncommitted, uncommitted.figures['rows_logged']) -%}
        {{ return({'rows': replayed, 'slice': none, 'uncommitted': uncommitted, 'counts': uncommitted.figures}) }}
    {%- endif -%}
    {%- set names = tidemark.column_list_expr(tidemark.slice_columns(plan)) -%}
    {%- set slice = tidemark.make_slice(cfg['target'], load['commit_id'], 'log', 'select\n    ' ~ names ~ ', _supersedes\nfrom ' ~ replayed) -%}
    {%- set counts = dict(rows_logged=0, rows_superseded=0) -%}
    {%- set names = {'I': 'rows_inserted', 'U': 'rows_updated', 'D': 'rows_deleted', 'N': 'rows_unchanged'} -%}
    {%- for row in tidemark.query_rows('select _operation, _supersedes is not null as is_mark, count(*) as row_count from ' ~ slice ~ ' group by all') -%}
        {%- set name = 'rows_superseded' if row['is_mark'] else 'rows_logged' -%}
        {%- do counts.update({name: counts[name] + row['row_count'] | int}) -%}
        {%- if not row['is_mark'] and row['_operation'] in names -%}
            {%- do counts.update({names[row['_operation']]: row['row_count'] | int}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set uncommitted = none -%}
    {%- if counts['rows_logged'] and load['forward'] and load['log_version'] is not none -%}
        {%- set uncommitted = tidemark.staged_log_rows(opened, plan, load, slice, {'rows_logged': 'count(*)'}) -%}
        {%- do tidemark.check_staged(cfg, uncommitted, counts['rows_logged']) -%}
    {%- endif -%}
    {{ return({'rows': replayed, 'slice': slice, 'uncommitted': uncommitted, 'counts': counts}) }}
{%- endmacro -%}

{#- The rows that replaying a stretch gives, over views of what stood before. -#}
{%- macro replayed_sql(opened, plan, load) -%}
    {%- set cfg, staged = opened['cfg'], load['staged'] -%}
    {%- set existing, table_events = tidemark.run_view(cfg['target'], 'existing'), tidemark.run_view(cfg['target'], 'table_events') -%}
    {%- do tidemark.make_view(existing, (
        tidemark.no_existing_events_sql(cfg, plan, load) if opened['state']['first']
        else tidemark.existing_events_sql(cfg, plan, load['now'], staged, load)
    )) -%}
    {%- set rows_sql = [] -%}
    {%- if load['table_events'] -%}
        {%- do tidemark.make_view(table_events, tidemark.table_events_sql(cfg, plan, load['now'], staged, load)) -%}
        {%- do rows_sql.append(tidemark.logged_statements_sql(cfg, plan, table_events, load)) -%}
    {%- endif -%}
    {%- set sources = {'staged': staged, 'existing': existing, 'table_events': table_events, 'moved': none} -%}
    {%- if load['has_partial_moves'] -%}
        {%- set sources = dict(sources, moved=tidemark.moved_values(cfg, plan, sources, load)) -%}
    {%- endif -%}
    {%- if not plan['keyed'] -%}{%- do tidemark.warn_of_columns_without_key(cfg, plan, load['statements']) -%}{%- endif -%}
    {%- set generate = tidemark.replayed_keys_sql if plan['keyed'] else tidemark.replayed_copies_sql -%}
    {%- do rows_sql.append('select * from (\n' ~ generate(cfg, plan, sources, load) ~ '\n)') -%}
    {{ return(rows_sql | join('\nunion all\n')) }}
{%- endmacro -%}

{#- Tell what rows of a table without key are not found by any more: they are known by all values, and were stored with other columns than
    the images of before have from now on. -#}
{%- macro warn_of_columns_without_key(cfg, plan, statements) -%}
    {%- set compared = (plan['compared'] + plan['gone']) | map(attribute='name') | map('lower') | list -%}
    {%- set aliases, names = tidemark._aliases(cfg, {'renames': {}}), [] -%}
    {%- for statement in statements if statement['operation'] != 'CREATE_TABLE' -%}
        {%- if statement['effect'] == 'fill' -%}{%- do names.append(statement['column']) -%}{%- endif -%}
        {%- for change in statement.get('changes', []) if change['kind'] in ['drop_column', 'rename_column'] -%}
            {%- set old = change.get('old', change['name']) -%}
            {%- if aliases.get(change['name'] | lower) != old | lower -%}{%- do names.append(old) -%}{%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set names = names | map('lower') | select('in', compared) | unique | list -%}
    {%- if names -%}
        {%- do tidemark.warn(cfg['entity'],
            'without unique_key a row is found by all its values, and those that are there have others in ' ~ names | join(', ')
            ~ ' than the source, whose columns have changed: no event updates or deletes them any more. Begin anew with --full-refresh on a snapshot of now'
        ) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The values that rows had under their old key, for moves that did not bring every column. A chain of moves is settled
    step by step, each in a table of its own, until nothing changes: with each step one move more has them, so that there are no more
    steps than moves. -#}
{%- macro moved_values(cfg, plan, sources, load) -%}
    {%- set step = namespace(relation=tidemark.moved_values_by(cfg, plan, sources, load, 0)) -%}
    {%- for number in tidemark.steps_at_most(tidemark.row_count(step.relation)) -%}
        {%- set next = tidemark.moved_values_by(cfg, plan, dict(sources, moved=step.relation), load, number) -%}
        {%- if run_query('select 1 from ' ~ next ~ ' as now left join ' ~ step.relation ~ ' as before on now._event_id = before._event_id'
            ~ ' and now._moved_from = before._moved_from where not (to_json(now._image) <=> to_json(before._image)) limit 1') | length == 0 -%}
            {{ return(next) }}
        {%- endif -%}
        {%- set step.relation = next -%}
    {%- endfor -%}
    {%- do tidemark.raise_unsettled(cfg) -%}
{%- endmacro -%}

{#- One step of that, by the values that the one before has found. -#}
{%- macro moved_values_by(cfg, plan, sources, load, number) -%}
    {{ return(tidemark.make_slice(
        cfg['target'], load['commit_id'], 'moved_' ~ number, tidemark.replayed_keys_sql(cfg, plan, sources, load, departures=true)
    )) }}
{%- endmacro -%}

{#- Staging, rejects and sensitive values: they count once the log has the commit. -#}
{%- macro beside_events(opened, plan, load, figures, rows) -%}
    {%- set cfg, targets, staged = opened['cfg'], tidemark.write_relations(opened), load['staged'] -%}
    {%- set stamp = load['commit_id'] ~ ' as _commit_id' -%}
    {%- set statements = [tidemark.insert_sql(targets['staging'], tidemark.staging_columns(cfg, plan),
        'select * except (_landing_num), _tidemark_line_num as _landing_num, ' ~ load['batch_id'] ~ ' as _batch_id, _source_operation as _operation, ' ~ stamp ~ ' from ' ~ staged
        ~ ' where _is_usable')] -%}
    {%- if figures['rows_rejected'] -%}
        {%- do statements.append(tidemark.insert_sql(targets['rejects'], tidemark.rejects_columns(),
            'select _reject_reason, ' ~ ('_key_hash' if plan['keyed'] else 'cast(null as string) as _key_hash') ~ ", _raw_payload, date'"
            ~ load['business_date'] ~ "' as _business_date, " ~ stamp ~ ', cast(null as bigint) as _resolved_by from ' ~ staged
            ~ ' where _reject_reason is not null')) -%}
    {%- endif -%}
    {%- if plan['sensitive'] and figures['rows_logged'] -%}
        {%- do statements.append(tidemark.insert_sql(targets['sensitive'], tidemark.sensitive_columns(plan),
            'select *, ' ~ stamp ~ ' from ' ~ rows['rows'] ~ " where _supersedes is null and _operation <> 'T'")) -%}
    {%- endif -%}
    {{ return(statements) }}
{%- endmacro -%}
