{#- Take away what retention does not keep any more: the settings', or for this call `retention`. The floor, before which changes cannot be
    asked from then on, is recorded before anything is removed, and each table's rows go in one commit of it: a call that died is finished by
    the next. -#}
{%- macro clean(entity, dry_run=false, vacuum=false, retention={}) -%}
    {%- set dry_run, vacuum = tidemark.is_true(dry_run), tidemark.is_true(vacuum) -%}
    {%- set node = tidemark.entity_node(entity, ['cdc', 'feed', 'atomic', 'shred']) -%}
    {%- set kind = node['config']['materialized'] -%}
    {%- if kind == 'feed' -%}{{ return(tidemark.clean_feed(node, dry_run, vacuum, retention)) }}{%- endif -%}
    {%- if kind != 'cdc' -%}{{ return(tidemark.clean_enriched(node, dry_run, vacuum, retention)) }}{%- endif -%}
    {%- set opened = tidemark.open_entity(entity, 'clean', dry_run) -%}
    {%- set lengths = tidemark.retention_lengths(opened['cfg'], retention) -%}
    {%- set horizons = tidemark.clean_horizons(opened, lengths) -%}
    {%- set steps = tidemark.clean_steps(opened, horizons) -%}
    {%- for holder in horizons['holders'] if horizons['is_held'] -%}
        {%- do tidemark.say(entity, 'kept from commit ' ~ holder['commit_id'] ~ ' on by ' ~ holder['by']) -%}
    {%- endfor -%}
    {%- set needed = tidemark.rows_kept_for_events(opened, horizons) -%}
    {%- if needed -%}
        {%- do tidemark.say(entity, 'kept ' ~ needed ~ ' old rows of the history, from which late events would be replayed: what followed them did not bring every column') -%}
    {%- endif -%}

    {%- if dry_run -%}{{ return(tidemark.tell_clean(opened, steps, horizons, vacuum)) }}{%- endif -%}

    {%- set record = tidemark.operation_commit(opened, 'clean') -%}
    {%- set details = {'retention': lengths, 'removed': {}, 'dropped': horizons['old_tables'] | map('string') | list, 'vacuum': vacuum} -%}
    {%- do record.update({'source_commit_id': horizons['floor'], 'details': tojson(details)}) -%}
    {%- do tidemark.record_commit(opened['commits'], record, 'inflight', {}) -%}
    {%- do tidemark.check_new_savepoints(opened, record, horizons['savepoints']) -%}
    {%- do tidemark.end_begun(opened, record) -%}
    {%- for step in steps -%}
        {%- do tidemark.run_statements(step['statements']) -%}
        {%- do tidemark.say(entity, 'removed ' ~ step['count'] ~ ' ' ~ step['what'] ~ ' of ' ~ step['relation'].identifier) -%}
        {%- do details['removed'].update({step['relation'].identifier ~ ': ' ~ step['what']: step['count']}) -%}
    {%- endfor -%}
    {#- Sensitive values last: theirs is what has no log row any more, also after a call that died before it came to them. -#}
    {%- set removed = tidemark.remove_orphaned_sensitive(opened, horizons['floor']) -%}
    {%- if removed -%}
        {%- do details['removed'].update({opened['relations']['sensitive'].identifier: removed}) -%}
        {%- do tidemark.say(entity, 'removed ' ~ removed ~ ' rows of ' ~ opened['relations']['sensitive'].identifier) -%}
    {%- endif -%}
    {%- for relation in horizons['old_tables'] -%}
        {%- do tidemark.drop_any(relation) -%}
        {%- do tidemark.say(entity, 'dropped ' ~ relation) -%}
    {%- endfor -%}
    {%- do tidemark.drop_slices(opened['cfg']['target']) -%}
    {%- do tidemark.clear_slices(opened['cfg']['target']) -%}
    {%- if vacuum -%}{%- do tidemark.vacuum_tables(tidemark.entity_tables(opened['relations'])) -%}{%- endif -%}
    {%- do record.update({'details': tojson(details)}) -%}
    {%- do tidemark.record_commit(opened['commits'], record, 'completed', {}) -%}
    {%- do tidemark.say(entity, ('nothing was to be removed' if not details['removed'] and not details['dropped'] else 'cleaned in commit ' ~ record['commit_id'])
        ~ '; changes can be asked from commit ' ~ horizons['floor'] ~ ' on') -%}
{%- endmacro -%}

{#- A savepoint that was made since it was worked out what goes: from here on one finds the line that clean() draws. So far nothing went,
    and what a call that died has taken away stays behind its own line. -#}
{%- macro check_new_savepoints(opened, record, known) -%}
    {%- set cfg, commits = opened['cfg'], opened['commits'] -%}
    {%- for point in tidemark.query_rows(tidemark.savepoints_sql(commits['states'], cfg['relation'])) if point['commit_id'] | int not in known -%}
        {%- do tidemark.record_commit(commits, record, 'rolled_back', {}) -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': a savepoint was made on commit ' ~ point['commit_id'] ~ ' since this began, and nothing was removed. Call it again'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Say what clean() would do. `tidemark clean` goes on only if something is said that it would: so whatever is left to do is. -#}
{%- macro tell_clean(opened, steps, horizons, vacuum) -%}
    {%- set cfg, entity = opened['cfg'], opened['cfg']['entity'] -%}
    {%- do tidemark.tell_begun(opened, 'clean') -%}
    {%- for step in steps -%}
        {%- do tidemark.say(entity, 'would remove ' ~ step['count'] ~ ' ' ~ step['what'] ~ ' of ' ~ step['relation'].identifier) -%}
    {%- endfor -%}
    {%- set orphans = tidemark.remove_orphaned_sensitive(opened, horizons['floor'], dry_run=true) -%}
    {%- if orphans -%}
        {%- do tidemark.say(entity, 'would remove ' ~ orphans ~ ' rows of ' ~ opened['relations']['sensitive'].identifier ~ ', whose log rows are gone') -%}
    {%- endif -%}
    {%- for relation in horizons['old_tables'] -%}{%- do tidemark.say(entity, 'would drop ' ~ relation) -%}{%- endfor -%}
    {%- if vacuum -%}
        {%- do tidemark.vacuum_or_tell(entity, tidemark.entity_tables(opened['relations']), dry_run=true) -%}
    {%- endif -%}
    {%- do tidemark.say(entity, ('would let changes be asked from commit ' if horizons['draws_line'] else 'changes could be asked from commit ') ~ horizons['floor'] ~ ' on') -%}
{%- endmacro -%}

{#- The lengths that hold for this call, without those that keep all: {superseded: '30 days'}. -#}
{%- macro retention_lengths(cfg, given) -%}
    {%- set errors, lengths = [], {} -%}
    {%- if given is not mapping -%}
        {%- do errors.append('retention must be a mapping such as {superseded: 30 days}, found: ' ~ given) -%}
        {%- set given = {} -%}
    {%- endif -%}
    {%- for name in given if name not in cfg['retention'] -%}
        {%- do errors.append('retention.' ~ name ~ ' is not kept by this entity' ~ tidemark._did_you_mean(name, cfg['retention'].keys() | list)) -%}
    {%- endfor -%}
    {%- for name, length in cfg['retention'].items() -%}
        {%- set wanted = tidemark._retention(given[name], 'retention.' ~ name, errors) if name in given else length -%}
        {%- if wanted is not none -%}{%- do lengths.update({name: wanted}) -%}{%- endif -%}
    {%- endfor -%}
    {%- do tidemark._check_retentions(cfg, lengths, errors) -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {{ return(lengths) }}
{%- endmacro -%}

{#- Up to which commit each kind of rows may go, and the floor. What must stay readable holds all of it back: after a savepoint, or
    after what a derived table has read, nothing is taken away. -#}
{%- macro clean_horizons(opened, lengths) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- set row = tidemark.query_rows(tidemark.clean_state_sql(opened['commits']['states'], cfg['relation'], lengths))[0] -%}
    {%- set log_start = row['log_start'] | int -%}
    {%- set savepoints = fromjson(row['savepoints'] or '[]') -%}
    {%- set holders = [] -%}
    {%- for point in savepoints if point['commit_id'] >= log_start -%}
        {%- do holders.append({'commit_id': point['commit_id'], 'by': 'the savepoint' ~ (' ' ~ point['name'] if point.get('name') else '')}) -%}
    {%- endfor -%}
    {%- for consumer in fromjson(row['consumers'] or '[]') if consumer['commit_id'] >= log_start -%}
        {#- A derived table that was dropped is built again from what there is. -#}
        {%- if tidemark.relation_exists(tidemark.relation_named(consumer['relation'])) -%}
            {%- do holders.append({'commit_id': consumer['commit_id'], 'by': consumer['relation'] ~ ', which has read so far'}) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- set first_kept = holders | map(attribute='commit_id') | min if holders else none -%}
    {%- set horizons = {'holders': holders, 'floor': row['floor'] | int, 'is_held': false} -%}
    {%- for name in ['superseded', 'history', 'feed', 'staging', 'rejects'] -%}
        {%- set horizon = row[name ~ '_horizon'] | int if name in lengths else 0 -%}
        {%- set free = name == 'staging' or (name == 'rejects' and cfg['extract'] == 'events') -%}
        {%- if not free and first_kept is not none and (horizon > first_kept or (name == 'history' and horizon)) -%}
            {%- do horizons.update({'is_held': true}) -%}
            {#- A row in force that is older than a kept point belongs to what was known there. -#}
            {%- set horizon = 0 if name == 'history' else first_kept -%}
        {%- endif -%}
        {%- do horizons.update({name: horizon}) -%}
    {%- endfor -%}
    {%- do horizons.update({
        'draws_line': horizons['feed'] > horizons['floor'],
        'savepoints': savepoints | map(attribute='commit_id') | list,
        'floor': [horizons['floor'], horizons['superseded'], horizons['history'], horizons['feed']] | max,
        'old_tables': tidemark.old_tables(opened, fromjson(row['replaced_logs'] or '[]'), savepoints),
    }) -%}
    {{ return(horizons) }}
{%- endmacro -%}

{#- The relation of a name such as `shop.airports_scd2`. -#}
{%- macro relation_named(name) -%}
    {%- set schema, _, identifier = name.partition('.') -%}
    {{ return(api.Relation.create(schema=schema, identifier=identifier)) }}
{%- endmacro -%}

{#- What a full refresh or a rehash left long enough ago; of a log that a savepoint lies in nothing. -#}
{%- macro old_tables(opened, replaced_logs, savepoints) -%}
    {%- set current = opened['relations']['current'] -%}
    {%- set found = [] -%}
    {%- set first_kept = savepoints | map(attribute='commit_id') | min -%}
    {%- for relation, commit_id in tidemark.kept_tables(current) -%}
        {%- for commit in replaced_logs if commit['commit_id'] == commit_id and commit['is_old']
            and (commit['kind'] == 'rehash' or not savepoints or first_kept >= commit_id) -%}
            {%- do found.append(relation) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- The tables `<entity>__log_<commit>` and the like that are there, each with its commit; of the plain Parquet of earlier releases also the view
    over the slices of the log. -#}
{%- macro kept_tables(current) -%}
    {%- set found = [] -%}
    {%- set wanted = modules.re.escape(current.identifier | lower) ~ '__(log|log_slices|rejects|supplied|sensitive|staging|landed)_([0-9]{15})' -%}
    {%- for name in tidemark.table_names(current.include(identifier=false), current.identifier ~ '__*') -%}
        {%- set match = modules.re.fullmatch(wanted, name | lower) -%}
        {%- if match -%}{%- do found.append((current.incorporate(path={'identifier': name}), match.group(2) | int)) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- What is to be removed, table by table: those steps that have something to do, each with its count and statements. -#}
{%- macro clean_steps(opened, horizons) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set plan = tidemark.recorded_plan(opened['state']['recorded']) -%}
    {%- set steps = [] -%}
    {%- if horizons['superseded'] -%}
        {%- do tidemark.add_clean_step(cfg, steps, relations['log'], 'superseded rows', '_superseded_by <= ' ~ horizons['superseded']) -%}
        {%- if tidemark.has_deltas(cfg) -%}
            {%- do tidemark.add_clean_step(cfg, steps, relations['supplied'], 'rows of replaced loads',
                tidemark.replaced_loads_expr(opened, horizons['superseded'])) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if horizons['history'] -%}
        {%- set rows = tidemark.cleaned_rows_sql(cfg, plan, relations['log'], horizons['history']) -%}
        {%- do steps.append({
            'relation': relations['log'], 'what': 'rows of the history',
            'count': tidemark.row_count('(\n' ~ rows ~ '\n)'),
            'statements': [tidemark.delete_rows_sql(relations['log'], rows, tidemark.log_row_names(plan))],
        }) -%}
    {%- endif -%}
    {%- if horizons['staging'] -%}
        {%- do tidemark.add_clean_step(cfg, steps, relations['staging'], 'events',
            '_commit_id <= ' ~ horizons['staging'] ~ ('' if cfg['keys'] else ' and _batch_id < ' ~ tidemark.batch_to_keep(tidemark.in_force_of(relations['staging'], opened['state'])))) -%}
    {%- endif -%}
    {%- if horizons['rejects'] -%}
        {%- do tidemark.add_clean_step(cfg, steps, relations['rejects'], 'rejects',
            '_commit_id <= ' ~ horizons['rejects'] if cfg['extract'] == 'events' else tidemark.replaced_loads_expr(opened, horizons['rejects'])) -%}
    {%- endif -%}
    {{ return(steps | selectattr('count') | list) }}
{%- endmacro -%}

{#- How many rows of the history stay, old as they are, because events that did not bring every column need them. -#}
{%- macro rows_kept_for_events(opened, horizons) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- if cfg['extract'] != 'events' or not cfg['keys'] or not horizons['history'] -%}{{ return(0) }}{%- endif -%}
    {%- set rows = tidemark.cleaned_rows_sql(
        cfg, tidemark.recorded_plan(opened['state']['recorded']), opened['relations']['log'], horizons['history'], kept=true
    ) -%}
    {{ return(tidemark.row_count('(\n' ~ rows ~ '\n)')) }}
{%- endmacro -%}

{%- macro add_clean_step(cfg, steps, relation, what, condition) -%}
    {%- set count = tidemark.row_count(relation, condition) -%}
    {%- set statements = ['delete from ' ~ relation ~ ' where ' ~ condition] -%}
    {%- do steps.append({'relation': relation, 'what': what, 'count': count, 'statements': statements}) -%}
{%- endmacro -%}

{#- Rows of loads up to a commit whose date was loaded again by then. What the last load of a date observed is needed for late dates. -#}
{%- macro replaced_loads_expr(opened, horizon) -%}
    {%- set last = adapter.call_function(
        'tidemark.rules.timeline.last_loads', tidemark.timeline(opened['commits'], opened['cfg']['relation']), horizon
    ) -%}
    {{ return('_commit_id <= ' ~ horizon ~ (' and _commit_id not in (' ~ last | join(', ') ~ ')' if last else '')) }}
{%- endmacro -%}

{#- Events of a table without key that come again are counted against those of the last batches: two of them stay. -#}
{%- macro batch_to_keep(staging) -%}
    {{ return(run_query(
        'select coalesce(min(_batch_id), 0) from (select distinct _batch_id from ' ~ staging ~ ' order by _batch_id desc nulls last limit 2)'
    )[0][0]) }}
{%- endmacro -%}

{#- Remove the sensitive values of log rows that are gone; their number. -#}
{%- macro remove_orphaned_sensitive(opened, floor, dry_run=false) -%}
    {%- set relations = opened['relations'] -%}
    {%- set plan = tidemark.recorded_plan(opened['state']['recorded']) -%}
    {%- if not plan['sensitive'] -%}{{ return(0) }}{%- endif -%}
    {%- set rows = tidemark.orphaned_sensitive_sql(plan, relations, floor) -%}
    {%- set count = tidemark.row_count('(\n' ~ rows ~ '\n)') -%}
    {%- if count and not dry_run -%}
        {%- do run_query(tidemark.delete_rows_sql(relations['sensitive'], rows, tidemark.sensitive_key(plan))) -%}
    {%- endif -%}
    {{ return(count) }}
{%- endmacro -%}

{#- The entity's own tables that are there. -#}
{%- macro entity_tables(relations) -%}
    {%- set found = [] -%}
    {%- for name in ['current', 'log_table', 'rejects', 'sensitive', 'supplied', 'staging', 'landed'] if tidemark.relation_exists(relations[name]) -%}
        {%- do found.append(relations[name]) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- VACUUM of these tables. Delta lists folders with as many tasks as Spark may discover partitions with: ten thousand, unless told otherwise. -#}
{%- macro vacuum_tables(relations, at_once=false) -%}
    {%- do run_query('set spark.sql.sources.parallelPartitionDiscovery.parallelism = 32') -%}
    {%- for relation in relations -%}
        {%- do tidemark.run_statements(tidemark.for_format(tidemark.lake_format(), 'vacuum')(relation, at_once)) -%}
    {%- endfor -%}
    {%- do run_query('reset spark.sql.sources.parallelPartitionDiscovery.parallelism') -%}
{%- endmacro -%}

{%- macro vacuum_or_tell(entity, relations, dry_run) -%}
    {%- if dry_run -%}
        {%- do tidemark.say(entity, 'would vacuum ' ~ relations | length ~ (' table' if relations | length == 1 else ' tables')) -%}
    {%- else -%}
        {%- do tidemark.vacuum_tables(relations) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Up to which commit an entity's history was cleaned, 0 for one that never was. -#}
{%- macro cleaned_until(relation) -%}
    {%- if not execute -%}{{ return(0) }}{%- endif -%}
    {%- set states = tidemark.commits_relations(tidemark.run_config())['states'] -%}
    {%- if not tidemark.relation_exists(states) -%}{{ return(0) }}{%- endif -%}
    {{ return(run_query(tidemark.clean_state_sql(states, relation.schema ~ '.' ~ relation.identifier, {}))[0]['floor'] | int) }}
{%- endmacro -%}
