{#- A full refresh that died is begun anew by whichever run comes next: its tables are set aside, or some of them. -#}
{%- macro enriched__run(opened, state) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if not state['left_refresh'] or run['full_refresh'] -%}{{ return(run) }}{%- endif -%}
    {%- if not run['empty'] -%}
        {%- do log(cfg['entity'] ~ ': reads all that has landed again, as a --full-refresh that died had begun to', info=true) -%}
    {%- endif -%}
    {{ return(dict(run, full_refresh=true)) }}
{%- endmacro -%}

{#- The state of atomic events: what lies where their tables belong is checked, what is missing beside them made anew. -#}
{%- macro enriched__state(opened, state) -%}
    {%- set cfg, run, relations, commits = opened['cfg'], opened['run'], opened['relations'], opened['commits'] -%}
    {%- set exists = tidemark.relation_exists(relations['current']) -%}
    {%- if exists and not state['recorded'] and not run['full_refresh'] -%}
        {%- set made = tidemark.relation_exists(relations['entities']) -%}
        {%- if not made or run_query('select 1 from ' ~ relations['current'] ~ ' limit 1') | length > 0 -%}
            {%- do tidemark.raise_error('data',
                cfg['entity'] ~ ': ' ~ relations['current'] ~ ' is a table that Tidemark did not make, or whose commits are gone from '
                ~ commits['view'] ~ '. Drop or rename it, or set it aside with --full-refresh'
            ) -%}
        {%- endif -%}
    {%- elif state['recorded'] and not exists and not run['full_refresh'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ relations['current'] ~ ' is gone, but commits were made to it. Restore the table, or read all that '
            ~ 'has landed again with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- set state = dict(
        state, exists=exists, first=not state['recorded'] or run['full_refresh'], has_manifest=tidemark.relation_exists(relations['manifest']),
        replaces=run['full_refresh'] and (exists or state['recorded'] is not none)
    ) -%}
    {%- if not state['first'] -%}
        {%- do tidemark.check_atomic_drift(cfg, state, relations['manifest'] | string) -%}
        {%- do tidemark.make_missing_atomic(cfg, relations) -%}
    {%- endif -%}
    {{ return(state) }}
{%- endmacro -%}

{#- Make the tables where they are missing; a full refresh first sets the old ones aside, under the number of the last commit. It is in flight
    before that, by which the next run knows that it has died: see enriched__run(). -#}
{%- macro enriched__prepare(opened, staged=none) -%}
    {%- set cfg, run, state, relations = opened['cfg'], opened['run'], opened['state'], opened['relations'] -%}
    {%- if state['replaces'] -%}
        {%- set commit = tidemark.new_commit(opened, staged['load'], staged['plan']['recorded']) -%}
        {%- do tidemark.record_commit(opened['commits'], commit, 'inflight', {}) -%}
        {%- do tidemark.check_replaced_events(opened, commit) -%}
        {%- for name in ['entities', 'rejects', 'landed'] + ([] if cfg['manifest'] else ['manifest']) + ['current'] if tidemark.relation_exists(relations[name]) -%}
            {%- set old = tidemark.old_relation(relations[name], state['last_commit_id']) -%}
            {%- if tidemark.relation_exists(old) -%}
                {%- do tidemark.drop_table(relations[name]) -%}
            {%- else -%}
                {%- do tidemark.run_statements(tidemark.rename_table_sql(
                    relations[name], old, name == 'current' and cfg['location_root'] is not none
                )) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if staged and not state['first'] -%}{%- do tidemark.tell_layout(cfg, state['recorded']) -%}{%- endif -%}
    {%- if not state['first'] or (staged or {}).get('is_prepared') -%}{{ return(none) }}{%- endif -%}
    {%- if run['full_refresh'] and cfg['manifest'] -%}{%- do tidemark.take_back_claims(opened) -%}{%- endif -%}
    {%- do tidemark.clear_debris(relations.values() | list) -%}
    {%- set statements = ['create schema if not exists ' ~ relations['manifest'].include(identifier=false)] if cfg['manifest'] and cfg['looks_across'] else [] -%}
    {%- for name, columns, options in [
        ('rejects', tidemark.rejected_line_columns(), {}),
        ('landed', tidemark.landed_columns(), {}),
        ('entities', tidemark.entity_columns(), {'partition_by': ['vendor', 'name', 'model']}),
        ('manifest', tidemark.manifest_columns(), {}),
        ('current', tidemark.atomic_columns(), dict(tidemark.atomic_options(cfg), is_fresh=state['replaces'])),
    ] if name != 'manifest' or cfg['looks_across'] -%}
        {%- do statements.extend(tidemark.for_format(cfg['file_format'], 'create_table')(relations[name], columns, options)) -%}
    {%- endfor -%}
    {%- do tidemark.run_statements(statements) -%}
    {%- if state['replaces'] and cfg['looks_across'] and not cfg['manifest'] -%}{%- do tidemark.keep_claims_of_others(opened) -%}{%- endif -%}
{%- endmacro -%}

{#- What populate_manifest claimed of other tables, out of the manifest that was set aside: those are not read anew, and copies of their
    events are copies still. -#}
{%- macro keep_claims_of_others(opened) -%}
    {%- set manifest = opened['relations']['manifest'] -%}
    {%- set old, ids = tidemark.old_relation(manifest, opened['state']['last_commit_id']), tidemark.populations_of_others(opened) -%}
    {%- if ids and tidemark.relation_exists(old) -%}
        {%- do run_query(tidemark.insert_sql(
            manifest, tidemark.manifest_columns(), 'select * from ' ~ old ~ ' where _commit_id in (' ~ ids | join(', ') ~ ')'
        )) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The commits of populate_manifest that claimed the events of other tables. -#}
{%- macro populations_of_others(opened) -%}
    {{ return(tidemark.query_rows(tidemark.populations_sql(
        opened['commits']['states'], opened['cfg']['relation'], opened['relations']['current'], of_others=true
    )) | map(attribute='commit_id') | list) }}
{%- endmacro -%}

{#- Before the tables are set aside: an error if another run has loaded a batch since this one began, or is about to, as check_replaced_log()
    does it of the others. That batch would be read again, though tables of entities have it by then. -#}
{%- macro check_replaced_events(opened, commit) -%}
    {%- set current, recorded = opened['relations']['current'], opened['state']['recorded'] -%}
    {%- do tidemark.check_is_alone(opened, commit) -%}
    {%- if recorded and tidemark.relation_exists(current) -%}
        {%- do tidemark.run_statements(tidemark.for_format(recorded.get('file_format') or opened['cfg']['file_format'], 'fence_events')(current, commit['commit_id'], false)) -%}
        {%- do tidemark.check_is_alone(opened, commit) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What all batches of a model have claimed in a manifest that others share with it, and that is not set aside with its tables: read anew,
    its events would be copies of themselves. Not what populate_manifest claimed of other tables. After the tables, so that a run that died in between is followed by another full refresh. -#}
{%- macro take_back_claims(opened) -%}
    {%- set manifest, states = opened['relations']['manifest'], opened['commits']['states'] -%}
    {%- if tidemark.relation_exists(manifest) -%}
        {%- set ids = tidemark.populations_of_others(opened) -%}
        {%- do run_query(tidemark.delete_rows_sql(
            manifest, 'select distinct commit_id as _commit_id from ' ~ states ~ ' where relation = ' ~ tidemark.string_literal(opened['cfg']['relation'])
            ~ (' and commit_id not in (' ~ ids | join(', ') ~ ')' if ids else ''), ['_commit_id']
        )) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What atomic events are made with: statistics of the columns that people filter by, of 132, and of that by which runs find each other. -#}
{%- macro atomic_options(cfg) -%}
    {%- set names = ['app_id', 'etl_tstamp', 'collector_tstamp', 'dvce_created_tstamp', 'event', 'event_id', 'derived_tstamp', 'event_name', '_commit_id'] -%}
    {%- set properties = {} -%}
    {%- if cfg['file_format'] == 'iceberg' -%}
        {%- do properties.update({'write.metadata.metrics.default': 'none'}) -%}
        {%- for name in names -%}{%- do properties.update({'write.metadata.metrics.column.' ~ name: 'truncate(36)'}) -%}{%- endfor -%}
    {%- else -%}
        {%- do properties.update({'delta.dataSkippingStatsColumns': names | join(',')}) -%}
    {%- endif -%}
    {%- do properties.update(cfg['table_properties']) -%}
    {{ return({
        'partition_by': cfg['partition_by'], 'cluster_by': cfg['cluster_by'], 'location_root': cfg['location_root'],
        'properties': properties, 'description': cfg['description'],
    }) }}
{%- endmacro -%}

{#- Make anew what beside atomic events was dropped by hand: entities from the events. What was rejected is gone, and
    without the register of files all of them would be taken again. -#}
{%- macro make_missing_atomic(cfg, relations) -%}
    {%- set present = tidemark.present_relations(relations) -%}
    {%- if 'landed' not in present and cfg['location'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ relations['landed'] ~ ', which knows the files that were read, is gone. Restore the table, or read all that has landed again with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- for name, columns in [('landed', tidemark.landed_columns()), ('rejects', tidemark.rejected_line_columns())] if name not in present -%}
        {%- do tidemark.clear_debris([relations[name]]) -%}
        {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'create_table')(relations[name], columns, {})) -%}
        {%- do log(cfg['entity'] ~ ': ' ~ relations[name] ~ ' was gone and is made anew, without what it had', info=true) -%}
    {%- endfor -%}
    {%- if 'entities' not in present -%}
        {%- do tidemark.make_anew(
            cfg['file_format'], relations['entities'], tidemark.entity_columns(), {'partition_by': ['vendor', 'name', 'model']},
            tidemark.stored_entities_sql(relations['current'])
        ) -%}
        {%- do log(cfg['entity'] ~ ': ' ~ relations['entities'] ~ ' was gone and is made anew from the events', info=true) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What would make new events incomparable with those that are there. -#}
{%- macro check_atomic_drift(cfg, state, manifest) -%}
    {%- set recorded = state['recorded']['fingerprint_ignore'] -%}
    {%- if recorded | sort != cfg['fingerprint_ignore'] | sort -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': fingerprint_ignore was ' ~ recorded | sort | join(', ') ~ ' and is now ' ~ cfg['fingerprint_ignore'] | sort | join(', ')
            ~ ': computed fingerprints would not agree with stored ones. Set it back, or read all that has landed again with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- if cfg['looks_across'] and (not state['has_manifest'] or state['recorded'].get('manifest', manifest) != manifest) -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': de-duplication across batches needs a manifest, and ' ~ ('what was stored last is not claimed in ' ~ manifest
            if state['has_manifest'] else 'there is none of the events that were stored without') ~ '. Make it with '
            ~ "dbt run-operation populate_manifest --args '{entity: " ~ cfg['entity'] ~ "}'"
        ) -%}
    {%- endif -%}
{%- endmacro -%}
