{#-
    Write a run: what goes beside the log first, then the log in one atomic commit, then current. Returns the commit that
    has the date's rejects: of a date that came again as it was, the one before.
-#}
{%- macro write_commit(cfg, plan, run, state, relations, commits, load, figures) -%}
    {%- set targets = tidemark.write_relations(state, relations) -%}
    {%- set commit = tidemark.new_commit(cfg, plan, run, commits, load) -%}
    {%- set rows = {} if load.get('staged_changes') else tidemark.rows_to_log(cfg, plan, targets, load, figures) -%}

    {%- set same_observation = load['this_commit_id'] is not none and not figures['rows_logged'] and not figures['rows_superseded']
        and tidemark.observed_the_same(cfg, relations, load) -%}
    {%- set numbers = {} -%}
    {%- for name, value in figures.items() if name.startswith('rows_') -%}
        {%- do numbers.update({name: value}) -%}
    {%- endfor -%}
    {%- if same_observation -%}
        {%- do commit.update({'kind': 'repeat'}) -%}
        {%- do tidemark.record_commit(commits, commit, 'completed', numbers) -%}
        {%- do tidemark.forget_run_views(cfg['target']) -%}
        {{ return(load['this_commit_id']) }}
    {%- endif -%}

    {%- do load.update({'log_version': tidemark.version_to_append(cfg, state, targets)}) -%}
    {%- do numbers.update(tidemark.versions_before(cfg, targets, load)) -%}
    {%- do tidemark.record_commit(commits, commit, 'inflight', numbers) -%}
    {%- do tidemark.write_side_rows(cfg, plan, targets, load, figures, rows) -%}
    {%- if figures['rows_logged'] or figures['rows_superseded'] -%}
        {%- do tidemark.append_to_log(cfg, plan, targets, load, figures, rows) -%}
    {%- elif load.get('staged_changes') -%}
        {%- do adapter.discard_rows(load['staged_changes']) -%}
    {%- endif -%}
    {%- do tidemark.complete_commit(cfg, plan, relations, commits, commit, load, numbers, figures) -%}
    {%- do tidemark.forget_run_views(cfg['target']) -%}
    {{ return(load['commit_id']) }}
{%- endmacro -%}


{#- The versions that a commit starts from, for tidemark_commits. -#}
{%- macro versions_before(cfg, relations, load) -%}
    {%- set log_version = load['log_version'] -%}
    {{ return({
        'log_version_before': log_version if log_version is not none else tidemark.table_version(cfg['file_format'], relations['log']),
        'current_version_before': tidemark.table_version(cfg['file_format'], relations['current']) if load['kind'] == 'load' else none,
    }) }}
{%- endmacro -%}


{#- Once the log has a commit: a new log takes the place of the old one, current follows, and the commit is complete. -#}
{%- macro complete_commit(cfg, plan, relations, commits, commit, load, numbers, figures=none) -%}
    {%- if load['kind'] in ['full_refresh', 'rehash'] -%}
        {%- do tidemark.swap_logs(relations, load['commit_id']) -%}
        {%- do load.update({'rebuild': true}) -%}
        {%- do tidemark.make_current(cfg, plan, relations, load) -%}
        {%- do tidemark.make_history_view(cfg, plan, relations) -%}
    {%- endif -%}
    {%- do tidemark.apply_to_current(cfg, plan, relations, load, figures) -%}
    {%- if load['kind'] == 'rollback' -%}
        {%- do tidemark.reopen_rejects(cfg, relations, commit, tidemark.mark_undone(commits, commit)) -%}
    {%- elif load.get('this_commit_id') is not none and cfg['extract'] != 'events' and load['kind'] == 'load' -%}
        {%- do tidemark.resolve_rejects(cfg, relations, load['business_date'], load['commit_id']) -%}
    {%- endif -%}
    {%- do numbers.update({
        'log_version_after': tidemark.table_version(cfg['file_format'], relations['log']),
        'current_version_after': tidemark.table_version(cfg['file_format'], relations['current']),
    }) -%}
    {%- do tidemark.record_commit(commits, commit, 'completed', numbers) -%}
{%- endmacro -%}


{#-
    What the commit puts into the log: `rows` a view with all columns, `slice` what the log is written from. A date after
    all others only appends, straight from the view. Anything else is worked out once and put into a table of its own
    (without sensitive columns), because it is read several times, between writes that would make Spark forget a cache.
-#}
{%- macro rows_to_log(cfg, plan, relations, load, figures) -%}
    {%- set changed = tidemark.run_view(cfg['target'], 'changed') -%}
    {%- do run_query('create or replace temporary view ' ~ changed ~ ' as\n' ~ tidemark.changed_rows_sql(load['classified'])) -%}
    {%- if load['forward'] and not plan['sensitive'] -%}
        {%- do figures.update({
            'rows_logged': figures['rows_inserted'] + figures['rows_updated'] + figures['rows_deleted'],
            'rows_superseded': 0,
        }) -%}
        {{ return({'rows': changed, 'slice': changed}) }}
    {%- endif -%}

    {%- set rows = changed -%}
    {%- if not load['forward'] -%}
        {%- set rows = tidemark.run_view(cfg['target'], 'revised') -%}
        {%- set logged = tidemark.run_view(cfg['target'], 'logged') -%}
        {%- do run_query('create or replace temporary view ' ~ logged ~ ' as\n' ~ tidemark.logged_rows_sql(
            plan, relations, changed, load['business_date']
        )) -%}
        {%- do run_query('cache lazy table ' ~ logged) -%}
        {%- do run_query('create or replace temporary view ' ~ rows ~ ' as\n' ~ tidemark.revised_rows_sql(
            cfg, plan, relations, changed, logged, load
        )) -%}
        {%- if plan['sensitive'] -%}
            {%- do run_query('cache lazy table ' ~ rows) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set names = tidemark.slice_columns(plan) + ([] if load['forward'] else ['_supersedes']) -%}
    {%- set slice = tidemark.make_slice(cfg['target'], load['commit_id'], 'log', 'select\n    ' ~ tidemark.column_list_expr(names) ~ '\nfrom ' ~ rows) -%}
    {%- set marks = 'false' if load['forward'] else '_supersedes is not null' -%}
    {%- set counts = run_query('select count_if(not ' ~ marks ~ '), count_if(' ~ marks ~ ') from ' ~ slice)[0] -%}
    {%- do figures.update({'rows_logged': counts[0] | int, 'rows_superseded': counts[1] | int}) -%}
    {{ return({'rows': rows, 'slice': slice}) }}
{%- endmacro -%}


{#- Whether a date that was loaded before came again with nothing new, also not in what it supplied or rejected. -#}
{%- macro observed_the_same(cfg, relations, load) -%}
    {%- set now = tidemark.rejected_rows_sql(load['classified']) -%}
    {%- set before = 'select _reject_reason, _key_hash, _raw_payload from ' ~ relations['rejects'] ~ ' where '
        ~ tidemark._loads_expr([{'business_date': load['business_date'], 'commit_id': load['this_commit_id']}]) -%}
    {%- set checks = [tidemark.differs_sql(now, before)] -%}
    {%- if cfg['extract'] == 'delta' -%}
        {%- set now = tidemark.supplied_keys_sql(load['classified']) -%}
        {%- set before = 'select _key_hash from ' ~ relations['supplied'] ~ ' where '
            ~ tidemark._loads_expr([{'business_date': load['business_date'], 'commit_id': load['this_commit_id']}]) -%}
        {%- do checks.append(tidemark.differs_sql(now, before)) -%}
    {%- endif -%}
    {%- for check in checks -%}
        {%- if run_query(check) | length > 0 -%}{{ return(false) }}{%- endif -%}
    {%- endfor -%}
    {{ return(true) }}
{%- endmacro -%}


{#- Rejects, supplied keys and sensitive values: they count once the log has the commit. -#}
{%- macro write_side_rows(cfg, plan, relations, load, figures, rows) -%}
    {%- set stamp = "date'" ~ load['business_date'] ~ "' as _business_date, " ~ load['commit_id'] ~ ' as _commit_id' -%}
    {%- if figures['rows_rejected'] -%}
        {%- do run_query(tidemark.insert_sql(relations['rejects'], tidemark.rejects_columns(),
            'select *, ' ~ stamp ~ ', cast(null as bigint) as _resolved_by from (' ~ tidemark.rejected_rows_sql(load['classified']) ~ ')', cfg['file_format'])) -%}
    {%- endif -%}
    {%- if cfg['extract'] == 'delta' -%}
        {%- do run_query(tidemark.insert_sql(relations['supplied'], tidemark.supplied_columns(),
            'select *, ' ~ stamp ~ ' from (' ~ tidemark.supplied_keys_sql(load['classified']) ~ ')', cfg['file_format'])) -%}
    {%- endif -%}
    {%- if plan['sensitive'] and figures['rows_logged'] -%}
        {%- set rows_sql = 'select *, ' ~ load['commit_id'] ~ ' as _commit_id from ' ~ rows['rows']
            ~ ('' if load['forward'] else ' where _supersedes is null') -%}
        {%- do run_query(tidemark.insert_sql(relations['sensitive'], tidemark.sensitive_columns(plan), rows_sql, cfg['file_format'])) -%}
    {%- endif -%}
{%- endmacro -%}


{#-
    The commit point. A load forward leaves in `load['touched']` what the log has of it, so that the log need not be asked.
    Returns the version of the log where rows were staged.
-#}
{%- macro append_to_log(cfg, plan, relations, load, figures, rows) -%}
    {%- set staged = load.get('staged_changes') -%}
    {%- if not staged and load['forward'] and load.get('log_version') is not none -%}
        {%- set staged = tidemark.staged_log_rows(plan, relations, load, rows['slice'], load['log_version'], {'rows_logged': 'count(*)'}) -%}
        {%- do tidemark.check_staged(cfg, staged, figures['rows_logged']) -%}
    {%- endif -%}
    {%- if staged -%}
        {%- set version = adapter.commit_rows(staged) -%}
        {%- do load.update({'touched': tidemark.run_view(cfg['target'], 'touched')}) -%}
        {%- do adapter.view_rows(staged, load['touched']) -%}
        {{ return(version) }}
    {%- endif -%}
    {%- set result = tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'append_to_log')(
        relations, tidemark.slice_columns(plan), rows['slice'], load
    )) -%}
    {%- if cfg['file_format'] == 'delta' -%}
        {%- if load['forward'] -%}
            {%- set result = run_query('select count(*) from ' ~ relations['log'] ~ ' where _commit_id = ' ~ load['commit_id']) -%}
        {%- endif -%}
        {%- set written = result[0][0] | int -%}
        {%- set expected = figures['rows_logged'] + figures['rows_superseded'] -%}
        {%- if written == 0 -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': another run has written to ' ~ relations['log'] ~ ' since this one began, or has taken it for dead, so this one '
                ~ 'wrote nothing. Run it again'
            ) -%}
        {%- elif written != expected -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': ' ~ expected ~ ' log rows were counted but ' ~ written ~ ' were written; the extract '
                ~ 'changed while it was read. Run the date again: that corrects the log'
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if load['forward'] -%}
        {%- do load.update({'touched': rows['slice']}) -%}
    {%- endif -%}
{%- endmacro -%}


{#-
    Current follows the log: by MERGE of the rows that changed, or as a whole where every row gets a new tag, where the
    format cannot merge, where MERGE would write it all but for little, and where current is built again.
-#}
{%- macro apply_to_current(cfg, plan, relations, load, figures=none) -%}
    {%- set nothing_logged = figures is not none and not figures['rows_logged'] and not figures['rows_superseded'] -%}
    {%- do load.update({'version': tidemark.next_commit_id(0)}) -%}
    {%- set all_tagged = cfg['tag_unchanged'] and load['business_date'] == load['last_date'] -%}
    {#- Going back to an earlier date changes the tags of rows that no log row tells of. -#}
    {%- if load['rebuild'] or (all_tagged and load['kind'] == 'rollback') -%}
        {%- do tidemark.overwrite_current(cfg, plan, relations, tidemark.latest_rows_sql(plan, relations), none, load) -%}
    {%- elif all_tagged or (not nothing_logged and (cfg['file_format'] == 'parquet' or tidemark.merge_writes_all(cfg, relations, load, figures))) -%}
        {#- So many keys weigh some 100 MB: to send them to every core costs less than to shuffle and sort current. -#}
        {%- do load.update({'few_touched': figures is not none and (figures['rows_logged'] or 0) + (figures['rows_superseded'] or 0) <= 1000000}) -%}
        {%- set now = dict(relations, log=tidemark.as_it_is(cfg, relations['log'], 'log')) if not load.get('touched') else relations -%}
        {%- set touched = tidemark.touched_rows_sql(plan, now, load) -%}
        {%- set stored = tidemark.run_view(cfg['target'], 'stored') -%}
        {%- set is_written = tidemark.has_delta_files(cfg) and adapter.replace_rows(
            relations['current'], tidemark.current_rows_sql(cfg, plan, relations, touched, stored, load), stored
        ) is not none -%}
        {%- if not is_written -%}
            {%- do tidemark.overwrite_current(cfg, plan, relations, touched, relations['current'], load) -%}
        {%- endif -%}
    {%- elif not nothing_logged -%}
        {%- do load.update({'key_list': tidemark.keys_to_merge(relations, load, figures)}) -%}
        {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'merge_into_current')(cfg, plan, relations, load)) -%}
    {%- endif -%}
{%- endmacro -%}


{#- Write all rows of current: those touched, and of `stored` the others. -#}
{%- macro overwrite_current(cfg, plan, relations, touched, stored, load) -%}
    {%- set rows = tidemark.current_rows_sql(cfg, plan, relations, touched, stored, load) -%}
    {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'overwrite_current')(plan, relations, rows, load)) -%}
{%- endmacro -%}


{#-
    Whether a MERGE of what a run logged would write most of current again, which costs more than to write it all: it
    reads it twice. By copy_on_write every file with one such row is written, and hashes lie in all files alike, unless
    the table is laid out by other columns; with deletion vectors only what changed.
-#}
{%- macro merge_writes_all(cfg, relations, load, figures) -%}
    {%- if tidemark.is_written_at_once(cfg, relations['current']) -%}{{ return(true) }}{%- endif -%}
    {%- if not load['forward'] or not figures or 'existing' not in figures -%}{{ return(false) }}{%- endif -%}
    {%- if figures['rows_logged'] * 4 >= figures['existing'] -%}{{ return(true) }}{%- endif -%}
    {{ return(
        cfg['write_mode'] == 'copy_on_write' and not cfg['partition_by'] and not cfg['cluster_by']
        and figures['rows_logged'] >= tidemark.file_count(relations['current'])
    ) }}
{%- endmacro -%}


{#-
    The keys of a small commit as literals, which let MERGE leave out files of current by their statistics: a condition
    that stands in the slice alone does not. None where the commit touched more than `tidemark__merge_keys`: with a
    hundred, the code that Spark makes of the condition is too large to be compiled (python/benchmarks/pruning.py).
-#}
{%- macro keys_to_merge(relations, load, figures) -%}
    {%- set most = tidemark.run_config()['merge_keys'] -%}
    {#- Every touched key has a row or a mark in the commit, so that nothing is asked for a large one. -#}
    {%- set rows = (figures['rows_logged'] or 0) + (figures['rows_superseded'] or 0) if figures is not none else none -%}
    {%- if not most or (rows is not none and rows > 2 * most) -%}{{ return(none) }}{%- endif -%}
    {%- set keys = [] -%}
    {%- for row in run_query(tidemark.touched_keys_sql(relations, load, most)) -%}
        {%- do keys.append(tidemark.string_literal(row[0])) -%}
    {%- endfor -%}
    {{ return(keys if keys | length <= most else none) }}
{%- endmacro -%}


{#-
    Put the new log of a full refresh or a rehash in the place of the old one, which is kept as `<log>_<commit>`; the
    same for what was written beside it. Each step is skipped when done, so that an interrupted swap is finished by calling it again.
-#}
{%- macro swap_logs(relations, commit_id) -%}
    {%- for name in ['rejects', 'supplied', 'sensitive', 'staging', 'landed', 'log_table'] -%}
        {%- set new = tidemark.new_relation(relations[name]) -%}
        {%- set old = tidemark.old_relation(relations[name], commit_id) -%}
        {%- if tidemark.relation_exists(new) -%}
            {%- if tidemark.relation_exists(relations[name]) and not tidemark.relation_exists(old) -%}
                {%- do run_query('alter table ' ~ relations[name] ~ ' rename to ' ~ old) -%}
            {%- endif -%}
            {%- do run_query('alter table ' ~ new ~ ' rename to ' ~ relations[name]) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}
