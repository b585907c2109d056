{#- Make table and view of commits where they are missing, one thread at a time, as two would meet in an empty folder. A dry run makes
    none. -#}
{%- macro ensure_commits(run) -%}
    {%- set commits = tidemark.commits_relations(run) -%}
    {%- set present = adapter.column_names(commits['view']) if tidemark.can('ask_catalog')
        else adapter.get_columns_in_relation(commits['view']) | map(attribute='name') | list -%}
    {%- set layout = tidemark.checked_layout(commits['states']) -%}
    {%- set migrations = [] if layout is none or run.get('dry_run') else tidemark.migrate_layout_sql(commits['states'], layout) -%}
    {%- if run.get('dry_run') and not present -%}
        {{ return(dict(commits, are_missing=true)) }}
    {%- elif migrations or present != tidemark.commit_columns() | map(attribute='name') | list -%}
        {%- do tidemark.check_loads(commits['view'] | string) -%}
        {%- set properties = {'delta': {'delta.autoOptimize.autoCompact': 'true'}, 'iceberg': {'commit.retry.num-retries': '20'}} -%}
        {%- set options = {'properties': properties.get(run['commits_format'], {})} -%}
        {%- set statements = ['create schema if not exists ' ~ run['commits_schema']]
            + tidemark.for_format(run['commits_format'], 'create_table')(commits['states'], tidemark.commit_columns(), options)
            + tidemark.missing_commit_columns(commits, present)
            + migrations
            + [tidemark.commits_view_sql(commits['view'], commits['states'])] -%}
        {%- do tidemark.run_alone(statements, [commits['states']]) -%}
    {%- endif -%}
    {{ return(commits) }}
{%- endmacro -%}

{#- Columns that a table of commits lacks which an earlier version made. -#}
{%- macro missing_commit_columns(commits, present) -%}
    {%- set missing = [] -%}
    {%- for column in tidemark.commit_columns() if present and column['name'] not in present -%}
        {%- do missing.append({'name': column['name'], 'type': column['type'], 'description': column['description']}) -%}
    {%- endfor -%}
    {{ return(['alter table ' ~ commits['states'] ~ ' add columns (' ~ tidemark.column_definitions_expr(missing) ~ ')'] if missing else []) }}
{%- endmacro -%}

{#- What is known of an entity. Where its commits are few they are asked for as they are, which spares Spark three shuffles, and judged
    here; else Spark does: see entity_state_sql(). -#}
{%- macro entity_state(commits, cfg_relation, run) -%}
    {%- set states = tidemark.known_states(commits, cfg_relation) -%}
    {%- if states is not none -%}{{ return(tidemark.judged_state(states, run['business_date'])) }}{%- endif -%}
    {%- set row = tidemark.query_rows(tidemark.entity_state_sql(commits['states'], cfg_relation, run['business_date']))[0] -%}
    {%- set later_loads = {} -%}
    {%- for load in fromjson(row['later_loads'] or '[]') -%}{%- do later_loads.update({load['business_date']: load}) -%}{%- endfor -%}
    {{ return({
        'last_id': row['last_id'],
        'last_commit_id': row['last_commit_id'] or 0,
        'last_sequence_num': row['last_sequence_num'],
        'recorded': fromjson(row['config']) if row['config'] else none,
        'left_refresh': row['left_refresh'],
        'has_erased': row['has_erased'],
        'undone': fromjson(row['undone'] or '[]'),
        'inflight': fromjson(row['inflight'] or '[]'),
        'this_commit_id': row['this_commit_id'],
        'this_extract': row['this_extract'],
        'previous_extract': row['previous_extract'],
        'last_extract': row['last_extract'],
        'previous_date': row['previous_date'] | string if row['previous_date'] else none,
        'last_date': row['last_date'] | string if row['last_date'] else none,
        'last_date_commit_id': row['last_date_commit_id'],
        'later_loads': later_loads.values() | list,
    }) }}
{%- endmacro -%}

{#- The states of an entity's commits, the last ones first; none where they are too many to be judged here. -#}
{%- macro known_states(commits, relation) -%}
    {%- if commits.get('are_missing') -%}{{ return([]) }}{%- endif -%}
    {%- set most = 500 -%}
    {%- set sql = tidemark.entity_states_sql(commits['states'], relation, most) -%}
    {%- set states = adapter.known_rows(
        commits['states'], relation, sql, tidemark.all_states_sql(commits['states'], 4 * most), 4 * most
    ) | sort(attribute='commit_id', reverse=true) if commits['are_known'] else tidemark.query_rows(sql) -%}
    {{ return(states if states | length < most else none) }}
{%- endmacro -%}

{#- What a run of something derived from an entity needs to know of both: see judged_marks(). None where that takes Spark. -#}
{%- macro derived_marks(commits, relation, kind, source) -%}
    {%- if not commits['are_known'] -%}{{ return(none) }}{%- endif -%}
    {%- set own, others = tidemark.known_states(commits, relation), tidemark.known_states(commits, source) -%}
    {{ return(none if own is none or others is none else tidemark.judged_marks(own, others, kind)) }}
{%- endmacro -%}

{#- A commit of an entity as it is recorded, but for its state and numbers; `recorded` is what later loads are held to. -#}
{%- macro new_commit(opened, load, recorded) -%}
    {{ return({
        'commit_id': load['commit_id'],
        'relation': opened['cfg']['relation'],
        'entity': opened['cfg']['entity'],
        'kind': load['kind'],
        'business_date': load['business_date'],
        'started_at': tidemark.utc_now(),
        'invocation_id': opened['run']['invocation_id'],
        'config': recorded,
        'source_commit_id': opened['state']['last_commit_id'] if load['kind'] == 'full_refresh' else none,
        'is_correction': not load['forward'] or load['kind'] == 'full_refresh',
    }) }}
{%- endmacro -%}

{#- Append a commit's state. `figures` are its numbers and texts, by column name. `commit` keeps when that was. -#}
{%- macro record_commit(commits, commit, state, figures) -%}
    {%- set config_text = tojson(commit['config']) if commit.get('config') else none -%}
    {%- set now = tidemark.utc_now_after(commit.get('state_at')) -%}
    {%- do commit.update({'state_at': now}) -%}
    {%- set values = dict(commit, **figures) -%}
    {%- do values.update({
        'state': state,
        'state_at': now,
        'completed_at': now if state != 'inflight' else none,
        'config': config_text,
        'config_fingerprint': local_md5(config_text) if config_text else none,
    }) -%}
    {%- set row = {} -%}
    {%- for name in tidemark.commit_columns() | map(attribute='name') -%}{%- do row.update({name: values.get(name)}) -%}{%- endfor -%}
    {%- if commits['are_known'] -%}
        {%- do adapter.append_known(commits['states'], commit['relation'], row, tidemark.known_commit_columns()) -%}
    {%- else -%}
        {%- do run_query(tidemark.append_rows_sql(commits['states'], tidemark.commit_columns(), [row])) -%}
    {%- endif -%}
    {#- Of a run that died it is finished here, and none of what this run counts. -#}
    {%- if state == 'completed' and commit.get('invocation_id') == invocation_id -%}
        {#- For who started this run: `tidemark run` shows the counts. In this project `log` is our own macro. -#}
        {%- set counts = {} -%}
        {%- for name, number in figures.items() if name.startswith('rows_') and number is not none -%}
            {%- do counts.update({name: number | int}) -%}
        {%- endfor -%}
        {%- do builtins.log('tidemark commit ' ~ tojson({'relation': commit['relation'], 'counts': counts})) -%}
    {%- endif -%}
{%- endmacro -%}
