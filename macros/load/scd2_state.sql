{#- What is to be done, `build`, `merge` or `nothing`, and what that needs. -#}
{%- macro scd2_state(cfg, run, relation, commits, body) -%}
    {%- set log_relation = tidemark.side_relation(cfg['entity'], 'log') -%}
    {%- if not tidemark.relation_exists(log_relation) -%}
        {%- do tidemark.raise_error('data',
            cfg['model'] ~ ': there is no ' ~ log_relation ~ ' yet: run ' ~ cfg['entity'].identifier ~ ' first'
        ) -%}
    {%- endif -%}
    {%- set entity = cfg['entity'].schema ~ '.' ~ cfg['entity'].identifier -%}
    {%- set last = tidemark.scd2_marks(commits, cfg['relation'], entity) -%}
    {%- set log_now = tidemark.query_rows(tidemark.scd2_log_sql(log_relation, last['source_commit_id']))[0] -%}
    {%- set state = {
        'log': log_relation,
        'existing': load_cached_relation(this),
        'columns': tidemark.describe_query(body),
        'watermark': last['source_commit_id'],
        'rows_read': log_now['row_count'],
        'last_commit_id': log_now['last_commit_id'],
        'commit': {
            'commit_id': tidemark.next_commit_id(last['last_id']),
            'relation': cfg['relation'],
            'entity': cfg['model'],
            'kind': 'scd2',
            'source_relation': entity,
            'started_at': tidemark.utc_now(),
            'invocation_id': run['invocation_id'],
            'config': {
                'body': local_md5(body),
                'partition_by': cfg['partition_by'],
                'cluster_by': cfg['cluster_by'],
                'log_commit_id': last['log_commit_id'],
            },
        },
    } -%}
    {%- set names = state['columns'] | map(attribute='name') | list -%}
    {%- for name in ['_key_hash', cfg['valid_from']] if name not in names -%}
        {%- do tidemark.raise_error('configuration', cfg['model'] ~ ': the body must yield `' ~ name ~ '` of tidemark.scd2()'
            ~ ('; where it has another name, meta.tidemark.valid_from says which' if name == '_valid_from' else '')
        ) -%}
    {%- endfor -%}

    {%- set exists = tidemark.relation_exists(relation) -%}
    {%- set reason = tidemark.rebuild_reason(cfg, run, state, relation, {'last': last, 'log': log_now}) if exists -%}
    {%- if run['empty'] -%}
        {%- do state.update({'step': 'nothing' if exists else 'build', 'message': 'EMPTY'}) -%}
    {%- elif not exists or reason -%}
        {%- if exists -%}{%- do log(cfg['model'] ~ ': built again as a whole, as ' ~ reason, info=true) -%}{%- endif -%}
        {%- do state.update({'step': 'build'}) -%}
    {%- elif log_now['last_commit_id'] > last['source_commit_id'] -%}
        {%- do state.update({'step': 'merge'}) -%}
    {%- else -%}
        {%- do state.update({'step': 'nothing', 'message': 'nothing new'}) -%}
    {%- endif -%}
    {{ return(state) }}
{%- endmacro -%}

{#- What is known of a kept scd2 table: see scd2_state_sql(). -#}
{%- macro scd2_marks(commits, relation, entity) -%}
    {%- set marks = tidemark.derived_marks(commits, relation, 'scd2', entity) -%}
    {%- if marks is none -%}{{ return(tidemark.query_rows(tidemark.scd2_state_sql(commits['view'], relation, entity))[0]) }}{%- endif -%}
    {%- set done = marks['done'] or {} -%}
    {{ return({
        'last_id': marks['last_id'],
        'commit_id': done.get('commit_id') or 0,
        'source_commit_id': done.get('source_commit_id') or 0,
        'rows_read': done.get('rows_read') or 0,
        'config': done.get('config'),
        'log_commit_id': marks['replaced'] | map(attribute='commit_id') | first | default(0),
    }) }}
{%- endmacro -%}

{#- Why the table that is there cannot be carried on, or none. -#}
{%- macro rebuild_reason(cfg, run, state, relation, marks) -%}
    {%- set last, log_now = marks['last'], marks['log'] -%}
    {%- if run['full_refresh'] -%}{{ return('--full-refresh asks for it') }}{%- endif -%}
    {%- if state['existing'] is none or not tidemark.is_of_format(state['existing'], cfg['file_format']) -%}
        {{ return('it is no ' ~ cfg['file_format'] | title ~ ' table') }}
    {%- endif -%}
    {#- a table that --empty or somebody else made has no such property -#}
    {%- set built_by = (tidemark.table_property(relation, 'tidemark.scd2_commit') or 0) | int -%}
    {%- if not built_by or built_by > last['commit_id'] -%}{{ return('no completed run of it is known') }}{%- endif -%}
    {%- set recorded = fromjson(last['config']) -%}
    {%- if log_now['watermark_count'] != last['rows_read'] or recorded['log_commit_id'] != last['log_commit_id'] -%}
        {{ return('the log of ' ~ cfg['entity'].identifier ~ ' is not the one that it was made from') }}
    {%- endif -%}
    {%- set wanted, stored = {}, {} -%}
    {%- for columns, types in [(state['columns'], wanted), (tidemark.describe_query('select * from ' ~ relation), stored)] -%}
        {%- for column in columns -%}{%- do types.update({column['name']: tidemark.kept_type(column['type'], cfg['file_format'])}) -%}{%- endfor -%}
    {%- endfor -%}
    {%- if wanted != stored -%}{{ return('its columns changed') }}{%- endif -%}
    {%- if recorded != state['commit']['config'] -%}{{ return('its SQL or its layout changed') }}{%- endif -%}
    {{ return(none) }}
{%- endmacro -%}

{#- What the table is made with. -#}
{%- macro scd2_options(cfg, run, state) -%}
    {%- set properties = tidemark.delta__name_properties(state['columns']) if cfg['file_format'] == 'delta' else {} -%}
    {%- if not run['empty'] -%}{%- do properties.update({'tidemark.scd2_commit': state['commit']['commit_id']}) -%}{%- endif -%}
    {%- do properties.update(cfg['table_properties']) -%}
    {{ return(dict(cfg, properties=properties)) }}
{%- endmacro -%}

{#- A view or a table of another format gives way. -#}
{%- macro drop_other_format(relation, file_format) -%}
    {%- set existing = load_cached_relation(relation) -%}
    {%- if existing is not none and not tidemark.is_of_format(existing, file_format) -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {%- do tidemark.clear_debris([relation]) -%}
{%- endmacro -%}

{#- Whether a relation of dbt's cache is a table of this format. Of an Iceberg table the metastore tells that in its properties. -#}
{%- macro is_of_format(existing, file_format) -%}
    {%- if file_format == 'delta' -%}{{ return(existing.is_delta) }}{%- endif -%}
    {{ return('table_type=ICEBERG,' in (existing.information or '')) }}
{%- endmacro -%}

{#- The numbers of a run, for tidemark_commits; of what a MERGE did Iceberg tells nothing. -#}
{%- macro scd2_figures(cfg, state, relation) -%}
    {%- set figures = {
        'source_commit_id': state['last_commit_id'],
        'rows_read': state['rows_read'],
        'current_version_after': tidemark.table_version(cfg['file_format'], relation),
    } -%}
    {%- if state['step'] == 'merge' and cfg['file_format'] == 'delta' -%}
        {%- set merged = load_result('main')['table'].rows[0] -%}
        {%- do figures.update({'rows_updated': merged[1] | int, 'rows_deleted': merged[2] | int, 'rows_inserted': merged[3] | int}) -%}
    {%- endif -%}
    {{ return(figures) }}
{%- endmacro -%}
