{#- Write what was derived: what goes beside the log first, which counts once the log has the commit, then the log, in one
    atomic commit. `derived` has

        outcome      commit; repeat: there is nothing new, but that it was read again is recorded; nothing
        load         what the commit is made with
        figures      its numbers by column of tidemark_commits, `rows_` first of all; `numbers` has those that are none of rows
        uncommitted  rows of the log as files that no commit names yet (see staged_log_rows()), else `slice`, a table of them,
                     or `log_sql`, the statement that writes them
        beside       statements that write beside the log
        files        files whose events these are, for the register

    Returns {load, log_version}: the same load with `touched`, what the log has of it, where that need not be asked. -#}
{%- macro commit_load(opened, plan, derived, commit) -%}
    {%- set cfg, load, figures = opened['cfg'], derived['load'], derived['figures'] -%}
    {%- set targets = tidemark.write_relations(opened) -%}
    {%- set is_logged = tidemark.is_logged(derived) -%}
    {%- if derived['outcome'] == 'commit' -%}
        {%- do tidemark.record_commit(opened['commits'], commit, 'inflight', tidemark.numbers_of(derived)) -%}
        {%- do tidemark.run_statements(derived['beside']) -%}
        {%- if derived.get('uncommitted') -%}{%- do adapter.commit_beside(derived['uncommitted']) -%}{%- endif -%}
    {%- endif -%}
    {%- if derived.get('uncommitted') and (not is_logged or derived['outcome'] != 'commit') -%}
        {%- do adapter.discard_rows(derived['uncommitted']) -%}
    {%- endif -%}
    {%- do tidemark.check_known_is_done(opened, derived) -%}
    {%- if derived['outcome'] != 'nothing' -%}{%- do tidemark.write_landed(cfg, targets, derived.get('files', []), load) -%}{%- endif -%}
    {%- if derived['outcome'] != 'commit' or not is_logged -%}
        {{ return({'load': load, 'log_version': load.get('log_version')}) }}
    {%- elif derived.get('uncommitted') -%}
        {%- set touched = tidemark.run_view(cfg['target'], 'touched') -%}
        {%- set version = adapter.commit_rows(derived['uncommitted']) -%}
        {%- do adapter.view_rows(derived['uncommitted'], touched) -%}
        {{ return({'load': dict(load, touched=touched, written=derived['uncommitted']), 'log_version': version}) }}
    {%- endif -%}
    {%- do tidemark.step(cfg, 'append')(opened, plan, derived) -%}
    {{ return({'load': dict(load, touched=derived['slice']) if load['forward'] and derived.get('slice') else load, 'log_version': none}) }}
{%- endmacro -%}

{#- Whether a commit writes to the log, by which another run can be shut out that has taken it for dead. -#}
{%- macro is_logged(derived) -%}
    {{ return(derived['figures'].get('rows_logged') or derived['figures'].get('rows_superseded') or derived.get('log_sql')) }}
{%- endmacro -%}

{#- Whether current is this run's to bring after the log. Not where another run has taken it for dead meanwhile and finished the commit: what
    that run loaded since may be newer. Of one that was rolled back nothing is left, and the log shuts out none that wrote nothing there.
    Nothing is asked where no other process can write to the tables. -#}
{%- macro is_still_ours(opened, derived, commit) -%}
    {%- set cfg, commits = opened['cfg'], opened['commits'] -%}
    {%- if derived['outcome'] != 'commit' -%}{{ return(true) }}{%- endif -%}
    {%- if tidemark.is_only_process() -%}{{ return(true) }}{%- endif -%}
    {%- set states = [] -%}
    {#- none where the entity has many -#}
    {%- set known = tidemark.known_states(commits, cfg['relation']) if commits['are_known'] else none -%}
    {%- if known is not none -%}
        {%- for row in known if row['commit_id'] == commit['commit_id'] -%}{%- do states.append(row['state']) -%}{%- endfor -%}
    {%- else -%}
        {%- do states.extend(tidemark.first_column('select state from ' ~ commits['states'] ~ ' where relation = ' ~ tidemark.string_literal(cfg['relation'])
            ~ ' and commit_id = ' ~ commit['commit_id'])) -%}
    {%- endif -%}
    {%- if 'completed' in states -%}{{ return(false) }}{%- endif -%}
    {#- Of enriched events a run says more than once that its commit is in flight. #}
    {%- set is_taken = 'rolled_back' in states or (states | length > 1 and cfg['family'] != 'enriched') -%}
    {%- if is_taken and not tidemark.is_logged(derived) -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': another run has taken this one for dead since it began, so what it wrote does not count. Run it again'
        ) -%}
    {%- endif -%}
    {{ return(true) }}
{%- endmacro -%}

{#- Whether no other process can write to the tables. -#}
{%- macro is_only_process() -%}
    {{ return(tidemark.can('remove_files') and not adapter.shares_metastore()) }}
{%- endmacro -%}

{#- A run that has nothing for the log took what it read for known. It may have been brought there by another run, since this one began, that
    has not brought current yet, or never will: the next run does. -#}
{%- macro check_known_is_done(opened, derived) -%}
    {%- set cfg, log = opened['cfg'], opened['relations'].get('log_table') -%}
    {%- if cfg['family'] == 'enriched' or tidemark.is_logged(derived) or tidemark.is_only_process() -%}{{ return(none) }}{%- endif -%}
    {%- for left in tidemark.entity_state(opened['commits'], cfg['relation'], opened['run'])['inflight'] if tidemark.has_commit(log, left['commit_id']) -%}
        {%- do tidemark.raise_moved(cfg, opened['relations']['log']) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- As is_still_ours(), of an operation, which ends there. -#}
{%- macro check_still_ours(opened, derived, commit) -%}
    {%- if not tidemark.is_still_ours(opened, derived, commit) -%}{%- do tidemark.raise_finished(opened['cfg'], commit) -%}{%- endif -%}
{%- endmacro -%}

{#- Rows of a slice into the log by a statement, which is counted afterwards. -#}
{%- macro log__append(opened, plan, derived) -%}
    {%- set cfg, targets = opened['cfg'], tidemark.write_relations(opened) -%}
    {%- set load = dict(derived['load'], states=opened['commits']['states'], relation=cfg['relation']) -%}
    {%- set result = tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'append_to_log')(
        targets, tidemark.slice_columns(plan), derived['slice'], load
    )) -%}
    {%- if cfg['file_format'] != 'parquet' -%}
        {%- if load['forward'] or cfg['file_format'] == 'iceberg' -%}
            {%- set result = run_query('select count(*) from ' ~ targets['log'] ~ ' where _commit_id = ' ~ load['commit_id']
                ~ ('' if load['forward'] else ' or _superseded_by = ' ~ load['commit_id'])) -%}
        {%- endif -%}
        {%- do tidemark.check_written(cfg, targets['log'], derived['figures']['rows_logged'] + derived['figures']['rows_superseded'], result[0][0] | int,
            'Run the date again: that corrects the log') -%}
    {%- endif -%}
{%- endmacro -%}

{#- The numbers that tidemark_commits has of a commit. -#}
{%- macro numbers_of(derived) -%}
    {%- set numbers = dict(derived.get('numbers', {})) -%}
    {%- for name, value in derived['figures'].items() if name.startswith('rows_') -%}{%- do numbers.update({name: value}) -%}{%- endfor -%}
    {{ return(numbers) }}
{%- endmacro -%}

{%- macro record_load(opened, derived, commit) -%}
    {%- set numbers = tidemark.numbers_of(derived) -%}
    {%- if derived['outcome'] == 'commit' and (tidemark.is_logged(derived) or tidemark.is_still_ours(opened, derived, commit)) -%}
        {%- do numbers.update(tidemark.table_versions(opened['cfg'], opened['relations'], 'after')) -%}
        {%- do tidemark.record_commit(opened['commits'], commit, 'completed', numbers) -%}
    {%- elif derived['outcome'] == 'repeat' -%}
        {%- do tidemark.record_commit(opened['commits'], dict(commit, kind='repeat'), 'completed', numbers) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The versions of log and current before or after a commit, for tidemark_commits. -#}
{%- macro table_versions(cfg, relations, moment) -%}
    {%- set versions = {} -%}
    {%- for name in ['log', 'current'] if name in relations -%}
        {%- do versions.update({name ~ '_version_' ~ moment: tidemark.table_version(cfg['file_format'], relations[name])}) -%}
    {%- endfor -%}
    {{ return(versions) }}
{%- endmacro -%}

{#- The versions that a load starts from: of the log the one that rows are staged for, of a new current none; of a plan none. -#}
{%- macro versions_before(opened, load) -%}
    {%- if opened['run'].get('dry_run') -%}{{ return({}) }}{%- endif -%}
    {%- set cfg, targets = opened['cfg'], tidemark.write_relations(opened) -%}
    {{ return({
        'log_version_before': load['log_version'] if load['log_version'] is not none else tidemark.table_version(cfg['file_format'], targets['log']),
        'current_version_before': tidemark.table_version(cfg['file_format'], targets['current']) if load['kind'] == 'load' else none,
    }) }}
{%- endmacro -%}
