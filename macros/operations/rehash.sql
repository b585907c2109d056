{#- Give an entity's log the hashes of its present configuration, without a new version of any row. New tables are filled beside the old ones
    and take their names when they are whole; the old ones stay as `<table>_<commit>` until they are cleaned. An interrupted rehash is finished
    or rolled back by the entity's next run. -#}
{%- macro rehash(entity, drop=[], dry_run=false) -%}
    {%- do tidemark.check_loads(entity) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- set dry_run, drop = tidemark.is_true(dry_run), [drop] if drop is string else drop -%}
    {%- do tidemark.refuse_events(cfg, 'rehash') -%}
    {%- set run = tidemark.run_config() -%}
    {%- set relations = tidemark.side_relations(cfg['target']) -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set state = tidemark.entity_state(commits, cfg['relation'], run) -%}
    {%- set recorded = state['recorded'] -%}
    {%- if tidemark.erases_beside(commits, cfg['relation'], state['last_id']) -%}
        {%- do tidemark.raise_error('data', entity ~ ': a key is being erased, or a call of erase_key died: call it again with that key, which finishes it. Nothing was written') -%}
    {%- endif -%}
    {%- set cfg = dict(cfg, keys=tidemark.keys_in_order(cfg, recorded), has_deltas=recorded and tidemark.had_deltas(recorded)) -%}
    {%- set wanted = tidemark.rehashed_config(cfg, recorded, drop, state['inflight']) -%}
    {%- set plan = tidemark.recorded_plan(wanted, cfg) -%}
    {%- do tidemark.type_compared_values(cfg, plan) -%}
    {%- if plan['sensitive'] -%}{%- do wanted.update({'pepper': tidemark.pepper_check(cfg)}) -%}{%- endif -%}

    {%- set rows = run_query('select count(*) from ' ~ relations['log'])[0][0] -%}
    {%- do log(
        entity ~ ': ' ~ ('would rehash ' if dry_run else 'rehashing ') ~ rows ~ ' log rows with ' ~ wanted['hash'] ~ ' over '
        ~ plan['compared'] | map(attribute='name') | join(', '), info=true
    ) -%}
    {%- if not dry_run -%}
        {%- set commit = {
            'commit_id': tidemark.next_commit_id(state['last_id']), 'relation': cfg['relation'], 'entity': cfg['entity'],
            'kind': 'rehash', 'started_at': tidemark.utc_now(),
            'invocation_id': run['invocation_id'], 'config': wanted, 'source_commit_id': state['last_commit_id'],
        } -%}
        {%- do tidemark.record_commit(commits, commit, 'inflight', {'rows_logged': rows}) -%}
        {%- do tidemark.evolve_rejects(relations['rejects']) -%}
        {%- set hashes = {'now': wanted['hash'], 'before': none if tidemark.keeps_key_hashes(recorded, wanted) else recorded['hash']} -%}
        {%- do tidemark.run_statements(tidemark.rehash_sql(cfg, plan, hashes, relations)) -%}
        {%- if hashes['before'] -%}{%- do tidemark.tell_lost_keys(cfg, relations) -%}{%- endif -%}
        {%- set load = {
            'kind': 'rehash', 'forward': false, 'commit_id': commit['commit_id'], 'business_date': state['last_date'],
            'last_date': state['last_date'], 'last_date_commit_id': state['last_date_commit_id'], 'last_extract': state['last_extract'],
        } -%}
        {%- set opened = {'cfg': cfg, 'run': run, 'relations': relations, 'commits': commits, 'state': state} -%}
        {%- do tidemark.check_replaced_log(opened, commit) -%}
        {%- set derived = {'outcome': 'commit', 'figures': {'rows_logged': rows}} -%}
        {%- do tidemark.check_still_ours(opened, derived, commit) -%}
        {%- do tidemark.apply_load(opened, plan, load, commit) -%}
        {%- do tidemark.record_commit(commits, commit, 'completed', {'rows_logged': rows}) -%}
        {%- do log(entity ~ ': rehashed in commit ' ~ commit['commit_id'], info=true) -%}
    {%- endif -%}
{%- endmacro -%}

{%- macro keeps_key_hashes(recorded, wanted) -%}
    {{ return((recorded['hash'], recorded['recipe'], recorded.get('pepper')) == (wanted['hash'], wanted['recipe'], wanted.get('pepper'))) }}
{%- endmacro -%}

{#- Say how many rows beside the log have no hash of their key any more, as neither the log nor they themselves show it. -#}
{%- macro tell_lost_keys(cfg, relations) -%}
    {%- for name in ['rejects'] + (['supplied'] if tidemark.has_deltas(cfg) else []) -%}
        {%- set lost = tidemark.row_count(tidemark.new_relation(relations[name]), '_key_hash is null') - tidemark.row_count(relations[name], '_key_hash is null') -%}
        {%- if lost > 0 -%}
            {%- do tidemark.say(cfg['entity'], 'of ' ~ lost ~ ' rows of ' ~ relations[name].identifier ~ ' the key is not known any more: the log never had it')
            -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- What the entity will be held to after a rehash; an error for what a rehash cannot change. -#}
{%- macro rehashed_config(cfg, recorded, drop, inflight) -%}
    {%- set errors = [] -%}
    {%- if recorded is none -%}
        {%- do errors.append('it has no log yet: there is nothing to rehash') -%}
        {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {%- endif -%}
    {%- if inflight -%}{%- do errors.append('a commit is in flight: run the entity once, which finishes it') -%}{%- endif -%}
    {%- if recorded['hash'] == 'xxhash64x2' -%}
        {%- do errors.append('its hash is xxhash64x2, which this release does not compute: rehash it by the release before, or start a new log with '
            ~ '--full-refresh') -%}
    {%- endif -%}
    {%- for name, label in [('keys', 'unique_key'), ('stored_hashes', 'stored_hashes'), ('file_format', 'file_format')] -%}
        {%- if cfg[name] | string | lower != recorded[name] | string | lower -%}
            {%- do errors.append(label ~ ' was ' ~ tidemark._shown(recorded[name]) ~ ' and is now ' ~ tidemark._shown(cfg[name])
                ~ ', which needs a new log: --full-refresh') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if cfg['stored_hashes'] -%}
        {%- do errors.append('its hashes come from the model (stored_hashes): start a new log with --full-refresh') -%}
    {%- endif -%}
    {%- set names = recorded['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- for name in drop if name | lower not in names -%}
        {%- do errors.append('drop names `' ~ name ~ '`, which the log does not have' ~ tidemark._did_you_mean(name, names)) -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}

    {%- set dropped = drop | map('lower') | list -%}
    {%- set columns = [] -%}
    {%- for column in recorded['columns'] -%}
        {%- set is_dropped = column['name'] | lower in dropped or column.get('dropped', false) -%}
        {%- do columns.append({
            'name': column['name'], 'type': column['type'], 'sensitive': column['sensitive'],
            'role': tidemark.column_role({'key': column['role'] == 'key', 'ignored': is_dropped or not tidemark.is_compared(cfg, column['name'])}),
            'dropped': is_dropped,
        }) -%}
        {%- if column.get('not_null') and not is_dropped -%}{%- do columns[-1].update({'not_null': true}) -%}{%- endif -%}
        {%- for declared in cfg['columns'] if declared['name'] | lower == column['name'] | lower and declared['settings'].get('compare_as') -%}
            {%- do columns[-1].update({'compare_as': declared['settings']['compare_as']}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(dict(recorded, hash=cfg['hash'], recipe=tidemark.hash_recipe_version(), columns=columns, layout=tidemark.recorded_layout(cfg))) }}
{%- endmacro -%}

{#- The last commit that gave an entity's log other hashes; 0 if none did. -#}
{%- macro rehashed_at(relation) -%}
    {%- if not execute -%}{{ return(0) }}{%- endif -%}
    {%- set states = tidemark.commits_relations(tidemark.run_config())['states'] -%}
    {%- if not tidemark.relation_exists(states) -%}{{ return(0) }}{%- endif -%}
    {%- set found = run_query('select coalesce(max(commit_id), 0) from ' ~ states ~ " where kind = 'rehash' and state = 'completed' and relation = "
        ~ tidemark.string_literal(relation.schema ~ '.' ~ relation.identifier)) -%}
    {{ return(found[0][0] | int) }}
{%- endmacro -%}

{#- Columns of the history that current has no more, as the source has dropped them: since then they count for no hash. -#}
{%- macro columns_gone(relation) -%}
    {%- if not execute -%}{{ return([]) }}{%- endif -%}
    {#- under --empty a relation is a query -#}
    {%- set current = api.Relation.create(database=relation.database, schema=relation.schema, identifier=relation.identifier) -%}
    {%- set stays = adapter.get_columns_in_relation(current) | map(attribute='name') | map('lower') | list + tidemark.reserved_columns() -%}
    {%- set gone = [] -%}
    {%- for column in adapter.get_columns_in_relation(tidemark.side_relation(current, 'history')) if column.name | lower not in stays -%}
        {%- do gone.append(column.name) -%}
    {%- endfor -%}
    {{ return(gone) }}
{%- endmacro -%}
