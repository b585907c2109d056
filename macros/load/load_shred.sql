{#- What is to be done: the schema, the columns, how far the table has read and how far it can. -#}
{%- macro shred_state(cfg, run, commits, body) -%}
    {%- set source = tidemark.shred_of(body) -%}
    {%- if source is none -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ": the body of a shred model is {{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*') }}, or a SELECT over it"
        ) -%}
    {%- endif -%}
    {%- set exists = tidemark.relation_exists(cfg['target']) -%}
    {%- set marks = tidemark.shred_marks(commits, cfg['relation'], source['source']) -%}
    {%- set recorded = fromjson(marks['config'] or '{}') -%}
    {%- set made_by = tidemark.table_property(cfg['target'], 'tidemark.shred_commit') if exists -%}
    {%- if exists and not marks['read_to'] and made_by is none and not run['full_refresh'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ cfg['target'] ~ ' is one that Tidemark did not make, or whose commits are gone from ' ~ commits['view']
            ~ '. Drop or rename it, or have a table replaced with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- set is_unknown = exists and not tidemark.is_known_shred(marks['read_to'], recorded, made_by) -%}
    {#- an --empty run writes nothing where there is a table -#}
    {%- set build = not exists or (not run['empty'] and (run['full_refresh'] or is_unknown)) -%}
    {%- if build and is_unknown -%}{%- do log(cfg['entity'] ~ ': built again as a whole, as no completed run of this table is known', info=true) -%}{%- endif -%}
    {%- set commit_id = tidemark.next_commit_id(marks['last_id']) -%}
    {%- if not build and not run['empty'] and 0 < marks['read_to'] < marks['source_start'] -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ source['source'] ~ ' was read anew by commit ' ~ marks['source_start'] ~ '. Build this table again too, with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- if not build -%}{%- do tidemark.check_shred_drift(cfg, source, recorded) -%}{%- endif -%}
    {{ return({
        'source': source['source'],
        'uri': source['uri'],
        'columns': tidemark.shred_columns(cfg, source['uri']),
        'exists': exists,
        'build': build,
        'last_id': marks['last_id'],
        'recorded': recorded,
        'commit_id': commit_id,
        'made_by': commit_id if build else made_by,
        'started_at': tidemark.utc_now(),
        'from': [0 if build else marks['read_to'], marks['source_start'] - 1] | max,
        'to': marks['source_end'],
        'undone': marks['undone'],
    }) }}
{%- endmacro -%}

{#- Other entities than were read so far: those of before would be passed over, as if they had been read. -#}
{%- macro check_shred_drift(cfg, source, recorded) -%}
    {%- for name, called in {'uri': 'entities', 'source': 'events'}.items() if recorded.get(name, source[name]) != source[name] -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': its ' ~ called ~ ' were ' ~ recorded[name] ~ ' and are now ' ~ source[name]
            ~ ': what came before would be left out. Set it back, or build the table again with --full-refresh'
        ) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- How far a table of entities has read, and where the commits of its events begin and end: see shred_marks_sql(). -#}
{%- macro shred_marks(commits, relation, source) -%}
    {%- set marks = tidemark.derived_marks(commits, relation, 'shred', source) -%}
    {%- if marks is none -%}
        {%- set row = tidemark.query_rows(tidemark.shred_marks_sql(commits['states'], relation, source))[0] -%}
        {{ return(dict(row, undone=fromjson(row['undone']))) }}
    {%- endif -%}
    {{ return({
        'last_id': marks['last_id'],
        'read_to': (marks['done'] or {}).get('source_commit_id') or 0,
        'config': (marks['done'] or {}).get('config'),
        'source_start': marks['replaced'] | selectattr('kind', 'equalto', 'full_refresh') | map(attribute='commit_id') | first | default(0),
        'source_end': marks['ended'],
        'undone': marks['undone'],
    }) }}
{%- endmacro -%}

{#- The data's columns: those of the YAML, else those of the schemas in the registry. -#}
{%- macro shred_columns(cfg, uri) -%}
    {%- if cfg['columns'] -%}{{ return(cfg['columns']) }}{%- endif -%}
    {%- set columns = [] -%}
    {%- for column in adapter.call_function('tidemark.shred.registry.registry_columns', cfg['registry'], uri) -%}
        {%- do columns.append({'name': column['name'], 'type': column['data_type'], 'description': column['description'],
            'property': column['property'], 'is_exact': true}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- A model's body without the entities of commits that were rolled back: a run that was taken for dead may have written them after that. -#}
{%- macro entities_in_force(body, undone, from, to) -%}
    {%- set ids = undone | select('gt', from) | select('le', to) | list -%}
    {{ return('select * from (\n' ~ body ~ '\n) where _commit_id not in (' ~ ids | join(', ') ~ ')' if ids else body) }}
{%- endmacro -%}

{#- Rows into a table that has none after `from`, by a statement that writes nothing where another run has brought some since, and of two
    at once lets one through. -#}
{%- macro append_shred(cfg, relation, columns, rows, from) -%}
    {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'append_events')(
        relation, columns, rows ~ '\n    and (select count(*) from ' ~ relation ~ ' where _commit_id > ' ~ from ~ ') = 0', 'hierarchy.root_id', from
    )) -%}
{%- endmacro -%}

{#- Bring the table up to the last complete commit of its events; the figures, none if there is nothing new. -#}
{%- macro load_shred(cfg, run, state, commits, body) -%}
    {%- set relation, rejects = cfg['target'], tidemark.side_relation(cfg['target'], 'rejects') -%}
    {%- set validate = none -%}
    {%- if cfg['registry'] -%}
        {%- set known = [cfg['registry'], adapter.call_function('tidemark.shred.registry.registry_state', cfg['registry'])] -%}
        {%- set validate = 'tidemark_schema_problem_' ~ local_md5(known | join(' '))[:8] -%}
        {%- do adapter.register_function(validate, 'tidemark.shred.registry.schema_problem', known) -%}
    {%- endif -%}
    {%- set rows = tidemark.typed_entities_sql(
        state['columns'], tidemark.entities_in_force(body, state['undone'], state['from'], state['to']), state['from'], state['to'], validate
    ) -%}
    {%- set is_news = not run['empty'] and state['to'] > state['from'] -%}
    {%- set figures = {} -%}
    {%- set rejected = {'units': ['entity', 'entities'], 'of': '', 'rows': '(\n' ~ rows ~ '\n)', 'samples': none, 'advice': 'Mend columns or schema'} -%}
    {%- if is_news -%}
        {%- set figures = tidemark.query_rows('select count(*) as rows_read, count_if(_reject_reason is not null) as rows_rejected from (\n' ~ rows ~ '\n)')[0] -%}
        {%- set why = tidemark.why_rejects_stop(cfg, run, figures, rejected) -%}
        {%- if why -%}{%- do tidemark.raise_error('data', why) -%}{%- endif -%}
    {%- endif -%}
    {%- if run['empty'] and state['exists'] -%}{{ return(none) }}{%- endif -%}
    {%- set made = tidemark.prepare_shred(cfg, state, commits) -%}
    {%- if not state['build'] and not run['empty'] and not tidemark.relation_exists(rejects) -%}
        {%- do tidemark.make_missing_rejects(cfg, state, rejects, tidemark.typed_entities_sql(
            state['columns'], tidemark.entities_in_force(body, state['undone'], 0, state['from']), 0, state['from'], validate
        )) -%}
    {%- endif -%}
    {%- if not is_news -%}
        {%- do tidemark.swap_shred(cfg, state, made, commits) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- if not state['build'] -%}
        {%- do tidemark.tell_layout(cfg, state['recorded']) -%}
        {%- do tidemark.free_columns(relation, tidemark.no_longer_required(relation, state['columns'], state['recorded'].get('not_null'))) -%}
    {%- endif -%}

    {%- if figures['rows_read'] > figures['rows_rejected'] -%}
        {%- do tidemark.append_shred(cfg, made['table'], tidemark.shred_table_columns(state), 'select * from (\n' ~ rows ~ '\n) where _reject_reason is null', state['from']) -%}
        {%- set written = run_query('select count(*) from ' ~ made['table'] ~ ' where _commit_id > ' ~ state['from'])[0][0] | int -%}
        {%- if written != figures['rows_read'] - figures['rows_rejected'] -%}
            {%- do tidemark.raise_error('data', cfg['entity'] ~ ': another run has written to ' ~ relation ~ ' since this one began, which wrote nothing. Run it again') -%}
        {%- endif -%}
    {%- endif -%}
    {%- if figures['rows_rejected'] -%}
        {%- do tidemark.append_shred(cfg, made['rejects'], tidemark.rejected_entity_columns(), 'select * from (\n' ~ rows ~ '\n) where _reject_reason is not null', state['from']) -%}
    {%- endif -%}
    {%- do tidemark.swap_shred(cfg, state, made, commits) -%}
    {%- do figures.update({'rows_inserted': figures['rows_read'] - figures['rows_rejected']}) -%}
    {#- Of two runs the table is as the last one left it, whichever began first: the greatest number is to be that one's. -#}
    {%- do tidemark.record_commit(commits, {
        'commit_id': tidemark.next_commit_id(state['commit_id']), 'relation': cfg['relation'], 'entity': cfg['entity'], 'kind': 'shred',
        'started_at': state['started_at'], 'invocation_id': run['invocation_id'],
        'source_relation': state['source'], 'source_commit_id': state['to'],
        'config': {
            'flow': 'shred', 'uri': state['uri'], 'source': state['source'], 'made_by': state['made_by'],
            'not_null': tidemark.names_required(state['columns']), 'layout': tidemark.recorded_layout(cfg),
        },
    }, 'completed', figures) -%}
    {%- do tidemark.tell_rejects(cfg, figures, rejected, rejects, '_commit_id > ' ~ state['from'] ~ ' and _commit_id <= ' ~ state['to']) -%}
    {{ return(figures) }}
{%- endmacro -%}

{#- Make the tables, or add the columns that are lacking and take away what no commit counts. Returns where the rows go, {table, rejects}:
    what takes the place of a table is filled beside it, see swap_shred(). One with a location of its own is replaced where it is, and
    before its rejects are, as a table that no completed run knows is built again with them. -#}
{%- macro prepare_shred(cfg, state, commits) -%}
    {%- set relation, rejects = cfg['target'], tidemark.side_relation(cfg['target'], 'rejects') -%}
    {%- set columns = tidemark.shred_table_columns(state) -%}
    {%- if state['build'] -%}
        {%- do tidemark.check_own_entities(cfg, state, commits) -%}
        {%- set beside = {'table': tidemark.new_relation(relation), 'rejects': tidemark.new_relation(rejects)} -%}
        {%- set made = beside if state['exists'] and not cfg['location_root'] else {'table': relation, 'rejects': rejects} -%}
        {%- if made != beside -%}{%- do tidemark.drop_other_format(relation, cfg['file_format']) -%}{%- endif -%}
        {%- do run_query('create schema if not exists ' ~ relation.include(identifier=false)) -%}
        {%- for name in beside.values() -%}{%- do tidemark.drop_table(name) -%}{%- endfor -%}
        {%- do tidemark.clear_debris(made.values() | list) -%}
        {%- do tidemark.run_statements(
            tidemark.for_format(cfg['file_format'], 'create_table')(made['table'], columns, {
                'partition_by': cfg['partition_by'], 'cluster_by': cfg['cluster_by'], 'location_root': cfg['location_root'],
                'replaces': cfg['location_root'] is not none,
                'properties': dict({'tidemark.shred_commit': state['made_by']}, **cfg['table_properties']), 'description': cfg['description'],
            })
            + [tidemark.drop_table_sql(made['rejects'])]
            + tidemark.for_format(cfg['file_format'], 'create_table')(made['rejects'], tidemark.rejected_entity_columns(), {})
        ) -%}
        {{ return(made) }}
    {%- endif -%}
    {%- do tidemark.add_missing_columns(cfg['entity'], relation, columns) -%}
    {%- for name in [relation, rejects] if tidemark.relation_exists(name) -%}
        {%- set undone = state['undone'] | select('le', state['from']) | list -%}
        {%- set condition = '_commit_id > ' ~ state['from'] ~ (' or _commit_id in (' ~ undone | join(', ') ~ ')' if undone else '') -%}
        {%- if tidemark.has_rows(name, condition) -%}
            {%- do tidemark.check_own_entities(cfg, state, commits) -%}
            {%- do run_query('delete from ' ~ name ~ ' where ' ~ condition) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'table': relation, 'rejects': rejects}) }}
{%- endmacro -%}

{#- Tables that were filled beside the old ones take their names once they are whole; the rejects last, as above. -#}
{%- macro swap_shred(cfg, state, made, commits) -%}
    {%- set relation = cfg['target'] -%}
    {%- if made['table'] == relation -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.check_own_entities(cfg, state, commits) -%}
    {%- do tidemark.drop_other_format(relation, cfg['file_format']) -%}
    {%- for new, old in [(made['table'], relation), (made['rejects'], tidemark.side_relation(relation, 'rejects'))] -%}
        {%- do tidemark.run_statements([tidemark.drop_table_sql(old)] + tidemark.rename_table_sql(new, old)) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Before rows are taken away that no run had recorded when this one began: by now one may have, and have read further than this one
    is going to. -#}
{%- macro check_own_entities(cfg, state, commits) -%}
    {%- if tidemark.shred_marks(commits, cfg['relation'], state['source'])['last_id'] != state['last_id'] -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': another run has written to ' ~ cfg['target'] ~ ' since this one began, which wrote nothing. Run it again') -%}
    {%- endif -%}
{%- endmacro -%}

{#- The rejects of what was read so far, made anew from the entities. -#}
{%- macro make_missing_rejects(cfg, state, rejects, rows) -%}
    {%- do tidemark.make_anew(
        cfg['file_format'], rejects, tidemark.rejected_entity_columns(), {}, 'select * from (\n' ~ rows ~ '\n) where _reject_reason is not null'
    ) -%}
    {%- do log(cfg['entity'] ~ ': ' ~ rejects ~ ' was gone and is made anew from ' ~ state['source'], info=true) -%}
{%- endmacro -%}

{#- Columns of the table: where each row came from, then its data. -#}
{%- macro shred_table_columns(state) -%}
    {%- set columns = [] -%}
    {%- for column in state['columns'] -%}
        {%- do columns.append({'name': column['name'], 'type': column['type'], 'description': column.get('description', ''), 'not_null': column.get('not_null', false)}) -%}
    {%- endfor -%}
    {{ return(
        tidemark.entity_columns() | selectattr('name', 'in', ['schema', 'hierarchy']) | list + columns
        + [{'name': '_commit_id', 'type': 'bigint', 'description': 'Commit of the event'}]
    ) }}
{%- endmacro -%}

{#- Columns of the entities whose data does not match. -#}
{%- macro rejected_entity_columns() -%}
    {{ return([
        {'name': '_reject_reason', 'type': 'string', 'description': 'Why the data does not match'},
        {'name': '_raw_payload', 'type': 'string', 'description': 'Schema and data as self-describing JSON'},
        {'name': 'hierarchy', 'type': 'struct<root_id: string, root_tstamp: timestamp, ref_root: string, ref_tree: array<string>, ref_parent: string>'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}
