{#- Before the new log of a full refresh or a rehash takes the place of the old one: an error if anybody has written to the old one since
    this run began, as that would be lost. Nobody can any more: whoever writes is in flight in tidemark_commits first, so what came before
    the fence is seen here, and what comes after it finds this commit, see still_inflight_expr(). -#}
{%- macro check_replaced_log(opened, commit) -%}
    {%- set cfg, log = opened['cfg'], opened['relations']['log_table'] -%}
    {%- set replaces = tidemark.replaces_log(commit) and cfg['family'] != 'enriched' -%}
    {%- if not replaces or not opened['state'].get('has_log', true) -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.check_is_alone(opened, commit) -%}
    {#- A log of another format is of files, which have one writer, or is to be. -#}
    {%- if opened['state']['recorded']['file_format'] == cfg['file_format'] and tidemark.relation_exists(log) -%}
        {%- do tidemark.run_statements(tidemark.log__fence(cfg['file_format'], log, commit['commit_id'])) -%}
        {%- do tidemark.check_is_alone(opened, commit) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Take back what a run has written beside the log that it replaces, or does not write to, and end it, unless it is the only one that wrote.
    Where another run has taken it for dead, the tables beside may be whole and are that one's to finish; where it was rolled back, they are in
    nobody's way. -#}
{%- macro check_is_alone(opened, commit) -%}
    {%- set cfg, relations, commits = opened['cfg'], opened['relations'], opened['commits'] -%}
    {%- set state = tidemark.entity_state(commits, cfg['relation'], opened['run']) -%}
    {%- set own = tidemark.query_rows(tidemark.last_state_sql(commits['states'], cfg['relation'], commit['commit_id']))[0] -%}
    {%- set is_own = own['state'] == 'inflight' and own['details'] is none -%}
    {%- set others = [] -%}
    {%- for left in state['inflight'] if left['commit_id'] | int != commit['commit_id'] | int -%}{%- do others.append(left['commit_id']) -%}{%- endfor -%}
    {%- set has_moved = others or state['last_commit_id'] | int > opened['state']['last_commit_id'] | int
        or (commit['kind'] == 'rehash' and tidemark.erases_beside(commits, cfg['relation'], opened['state']['last_id'])) -%}
    {%- set has_log = cfg['family'] != 'enriched' -%}
    {#- another full refresh may have begun a new log in the place of this one's -#}
    {%- set replaces = has_log and tidemark.replaces_log(commit) -%}
    {%- if is_own and not has_moved and (not replaces or tidemark.has_new_log(relations['log_table'], commit, own['rows_logged'])) -%}{{ return(none) }}{%- endif -%}
    {%- if is_own and replaces and tidemark.relation_exists(tidemark.old_relation(relations['log_table'], commit['commit_id'])) -%}
        {%- do tidemark.raise_finished(cfg, commit) -%}
    {%- elif is_own -%}
        {%- do tidemark.step(cfg, 'discard')(opened, commit) -%}
        {#- of enriched events nothing was set aside, so no other run is to begin the full refresh anew: see enriched__run() -#}
        {%- do tidemark.record_commit(commits, commit if has_log else dict(commit, kind='load'), 'rolled_back', {}) -%}
    {%- elif own['state'] == 'completed' -%}
        {%- do tidemark.raise_finished(cfg, commit) -%}
    {%- endif -%}
    {%- do tidemark.raise_moved(cfg, relations['log' if has_log else 'current']) -%}
{%- endmacro -%}

{#- Whether a key of an entity is being erased, or has been since a commit: a copy of its log that was made meanwhile may have it. -#}
{%- macro erases_beside(commits, relation, commit_id) -%}
    {{ return(tidemark.query_rows(tidemark.erases_beside_sql(commits['states'], relation, commit_id))[0]['is_beside']) }}
{%- endmacro -%}

{#- Whether a commit writes a new log in the place of the old one. -#}
{%- macro replaces_log(commit) -%}
    {{ return(commit['kind'] in ['full_refresh', 'rehash']) }}
{%- endmacro -%}

{#- Whether the new log of a full refresh or a rehash is there, with all that the commit was to write. -#}
{%- macro has_new_log(log_table, commit, rows) -%}
    {%- set new_log = tidemark.new_relation(log_table) -%}
    {%- if not tidemark.relation_exists(new_log) -%}{{ return(false) }}{%- endif -%}
    {%- if commit['kind'] == 'rehash' -%}{{ return(tidemark.row_count(new_log) == rows | int) }}{%- endif -%}
    {{ return(rows == 0 or tidemark.has_commit(new_log, commit['commit_id'])) }}
{%- endmacro -%}

{#- Whether another run has written to the log that a commit was to replace, since that began and before this run shut everybody out of it:
    what a dead run has made beside it lacks that. It recorded the last commit of the log that it began with (earlier releases did not), so no
    clocks of two machines are compared. -#}
{%- macro has_moved_since(opened, commit) -%}
    {%- set log, relation = opened['relations']['log_table'], opened['cfg']['relation'] -%}
    {%- set recorded = tidemark.entity_state(opened['commits'], relation, opened['run'])['recorded'] -%}
    {%- set file_format = commit['config']['file_format'] -%}
    {%- if not tidemark.relation_exists(log) or tidemark.relation_exists(tidemark.old_relation(log, commit['commit_id']))
        or not recorded or recorded['file_format'] != file_format -%}
        {{ return(false) }}
    {%- endif -%}
    {%- do tidemark.run_statements(tidemark.log__fence(file_format, log, commit['commit_id'])) -%}
    {%- set state = tidemark.entity_state(opened['commits'], relation, opened['run']) -%}
    {%- for left in state['inflight'] if not tidemark.replaces_log(left) -%}
        {%- if tidemark.has_commit(log, left['commit_id']) -%}{{ return(true) }}{%- endif -%}
    {%- endfor -%}
    {{ return(commit['source_commit_id'] is none or commit['source_commit_id'] | int != state['last_commit_id'] | int) }}
{%- endmacro -%}
