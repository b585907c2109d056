{#- Before the new log of a full refresh or a rehash takes the place of the old one: an error if anybody has written to the old one since
    this run began, as that would be lost. Nobody can any more: whoever writes is in flight in tidemark_commits first, so what came before
    the fence is seen here, and what comes after it finds this commit, see still_inflight_expr(). -#}
{%- macro check_replaced_log(opened, commit) -%}
    {%- set cfg, log = opened['cfg'], opened['relations']['log_table'] -%}
    {%- set replaces = commit['kind'] in ['full_refresh', 'rehash'] and cfg['family'] != 'enriched' -%}
    {%- if not replaces or not opened['state'].get('has_log', true) -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.check_is_alone(opened, commit) -%}
    {#- A log of another format is of files, which have one writer, or is to be. -#}
    {%- if opened['state']['recorded']['file_format'] == cfg['file_format'] and tidemark.relation_exists(log) -%}
        {%- do tidemark.run_statements(tidemark.log__fence(cfg['file_format'], log, commit['commit_id'])) -%}
        {%- do tidemark.check_is_alone(opened, commit) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Take back what a run has written beside the old log, and end it, unless it is the only one that wrote. Where another run has taken it
    for dead, the tables beside may be whole and are that one's to finish; where it was rolled back, they are in nobody's way. -#}
{%- macro check_is_alone(opened, commit) -%}
    {%- set cfg, relations, commits = opened['cfg'], opened['relations'], opened['commits'] -%}
    {%- set state = tidemark.entity_state(commits, cfg['relation'], opened['run']) -%}
    {%- set own = tidemark.query_rows(tidemark.last_state_sql(commits['states'], cfg['relation'], commit['commit_id']))[0] -%}
    {%- set is_own = own['state'] == 'inflight' and own['details'] is none -%}
    {%- set others = [] -%}
    {%- for left in state['inflight'] if left['commit_id'] | int != commit['commit_id'] | int -%}{%- do others.append(left['commit_id']) -%}{%- endfor -%}
    {%- set has_moved = others or state['last_commit_id'] | int != opened['state']['last_commit_id'] | int -%}
    {%- if is_own and not has_moved and tidemark.relation_exists(tidemark.new_relation(relations['log_table'])) -%}{{ return(none) }}{%- endif -%}
    {%- if is_own -%}
        {%- do tidemark.step(cfg, 'discard')(opened, commit) -%}
        {%- do tidemark.record_commit(commits, commit, 'rolled_back', {}) -%}
    {%- elif own['state'] == 'completed' -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': another run has taken this one for dead, and finished its commit ' ~ commit['commit_id']) -%}
    {%- endif -%}
    {%- do tidemark.raise_moved(cfg, relations['log']) -%}
{%- endmacro -%}
