{#- Bring the files of an entity's tables to a good size: the log one partition at a time, those with most small files first, current by what a
    load looks its rows up by. What it has not come to is left for the next call while a load is at work; if a load writes the same files
    meanwhile, Delta refuses one of the two, which is then run again. -#}
{%- macro compact(entity, target_file_size='128 MB', tables=none, max_partitions=none, purge=true, dry_run=false) -%}
    {%- set opened = tidemark.look_at_entity(entity, 'compact') -%}
    {%- set cfg, relations, commits = opened['cfg'], opened['relations'], opened['commits'] -%}
    {%- set asked = {
        'bytes': tidemark.byte_size(cfg, target_file_size), 'tables': tidemark.tables_to_compact(cfg, tables),
        'max_partitions': max_partitions, 'purge': tidemark.is_true(purge),
    } -%}
    {%- set steps = tidemark.compact_steps(opened, asked) -%}
    {%- if tidemark.is_true(dry_run) -%}{%- do tidemark.tell_begun(opened, 'compact') -%}{%- endif -%}
    {%- for step in steps if tidemark.is_true(dry_run) -%}
        {%- do tidemark.say(entity, 'would ' ~ step['verb'] ~ ' ' ~ step['what'] ~ ': ' ~ tidemark.shown_files(step['before'])) -%}
    {%- endfor -%}
    {%- if not steps -%}{%- do tidemark.say(entity, 'its files are of a good size, nothing to compact') -%}{%- endif -%}
    {%- if tidemark.is_true(dry_run) -%}{{ return(none) }}{%- endif -%}

    {%- set record = tidemark.operation_commit(opened, 'compact') -%}
    {%- do tidemark.begin_operation(opened, record) -%}
    {%- set done = {} -%}
    {#- A key hash behind the columns that Delta keeps statistics of can be clustered by all the same. -#}
    {%- set settings = {'maxFileSize': asked['bytes'], 'minFileSize': asked['bytes'] * 3 // 4, 'zorder.checkStatsCollection.enabled': 'false'} -%}
    {%- for name, value in settings.items() if cfg['file_format'] == 'delta' -%}
        {%- do run_query('set spark.databricks.delta.optimize.' ~ name ~ ' = ' ~ value) -%}
    {%- endfor -%}
    {%- for step in steps -%}
        {%- if step['is_shared'] and tidemark.is_being_loaded(opened) -%}
            {%- do tidemark.say(entity, 'is being loaded: ' ~ step['what'] ~ ' is left for the next compact') -%}
        {%- else -%}
            {%- do run_query(step['statement']) -%}
            {%- set after = tidemark.files_of(step['relation'], asked['bytes'], step['partition_by'], step['partition_value']) -%}
            {%- do done.update({step['what'] ~ (' (purge)' if step['verb'] == 'purge' else ''): {'before': step['before'], 'after': after}}) -%}
            {%- do tidemark.say(entity, step['verb'] ~ ' ' ~ step['what'] ~ ': ' ~ tidemark.shown_files(step['before']) ~ ' → ' ~ tidemark.shown_files(after)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in settings if cfg['file_format'] == 'delta' -%}
        {%- do run_query('reset spark.databricks.delta.optimize.' ~ name) -%}
    {%- endfor -%}
    {%- do record.update({'details': tojson({'target_bytes': asked['bytes'], 'files': done, 'table_id': tidemark.table_id(relations['current'])})}) -%}
    {#- A version that a load has left half done is no version to read. -#}
    {%- set versions = {} if tidemark.is_being_loaded(opened) else tidemark.table_versions(cfg, relations, 'after') -%}
    {%- do tidemark.record_commit(commits, record, 'completed', versions) -%}
{%- endmacro -%}

{#- An entity as it is, without finishing or rolling back what is in flight: that may be a load at work. -#}
{%- macro look_at_entity(entity, operation) -%}
    {%- do tidemark.check_loads(entity) -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- set run = tidemark.run_config() -%}
    {%- set commits = tidemark.ensure_commits(run) -%}
    {%- set state = tidemark.entity_state(commits, cfg['relation'], run) -%}
    {%- set relations = tidemark.side_relations(cfg['target']) -%}
    {%- if not state['recorded'] or not tidemark.relation_exists(relations['log']) or not tidemark.relation_exists(relations['current']) -%}
        {%- do tidemark.raise_error('data', entity ~ ': nothing was loaded yet, so there is nothing to ' ~ operation) -%}
    {%- endif -%}
    {{ return({'cfg': cfg, 'run': run, 'relations': relations, 'commits': commits, 'state': state}) }}
{%- endmacro -%}

{#- Whether a commit of the entity's log is in flight. -#}
{%- macro is_being_loaded(opened) -%}
    {{ return(tidemark.entity_state(opened['commits'], opened['cfg']['relation'], opened['run'])['inflight'] | length > 0) }}
{%- endmacro -%}

{#- Bytes of a size such as '128 MB'. -#}
{%- macro byte_size(cfg, text) -%}
    {%- set match = modules.re.fullmatch('([0-9]{1,12})\\s*(b|kb|mb|gb)?', text | string | trim | lower) -%}
    {%- set bytes = match.group(1) | int * {'kb': 1024, 'mb': 1048576, 'gb': 1073741824}.get(match.group(2), 1) if match else 0 -%}
    {%- if not bytes -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ": target_file_size must be a size such as '128 MB', found: " ~ text) -%}
    {%- endif -%}
    {{ return(bytes) }}
{%- endmacro -%}

{%- macro tables_to_compact(cfg, tables) -%}
    {%- set known = ['current', 'log', 'rejects', 'sensitive', 'supplied', 'staging', 'landed'] -%}
    {%- set named = [tables] if tables is string else tables -%}
    {%- set wanted = known if tables is none else named -%}
    {%- for name in wanted if name not in known -%}
        {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': tables names `' ~ name ~ '`' ~ tidemark._did_you_mean(name, known)) -%}
    {%- endfor -%}
    {{ return(wanted) }}
{%- endmacro -%}

{#- What is to be done. `is_shared` says that a load writes the files, too, and does not only append to them. -#}
{%- macro compact_steps(opened, asked) -%}
    {%- set cfg = opened['cfg'] -%}
    {%- set steps = [] -%}
    {%- for name in asked['tables'] if tidemark.relation_exists(opened['relations'][name]) -%}
        {%- set relation = opened['relations'][name] -%}
        {%- set partition_by = '_business_date' if name == 'log' else none -%}
        {%- set zorder_by = '_key_hash' if name == 'current' and not cfg['cluster_by'] and '_key_hash' not in cfg['partition_by'] else none -%}
        {%- set step = {'relation': relation, 'partition_by': partition_by, 'partition_value': none, 'is_shared': name in ['current', 'log']} -%}
        {%- set worth = tidemark.query_rows(tidemark.file_sizes_sql(relation, asked['bytes'], partition_by)) | selectattr('small_count', 'gt', 1) | list -%}
        {%- set most = asked['max_partitions'] | int if asked['max_partitions'] is not none else worth | length -%}
        {%- for row in worth[:most] -%}
            {%- do steps.append(dict(step,
                verb='compact', what=relation.identifier ~ (' of ' ~ row['partition_value'] if partition_by else ''),
                partition_value=row['partition_value'], before=tidemark._files(row),
                statement=tidemark.optimize_sql(relation, partition_by, row['partition_value'], zorder_by) if cfg['file_format'] == 'delta'
                    else tidemark.rewrite_files_sql(relation, partition_by, row['partition_value'], zorder_by, asked['bytes'])
            )) -%}
        {%- endfor -%}
        {%- if asked['purge'] and tidemark.has_deletion_vectors(relation) -%}
            {%- do steps.append(dict(step,
                verb='purge', what=relation.identifier, before=tidemark.files_of(relation, asked['bytes'], none, none),
                statement='reorg table ' ~ relation ~ ' apply (purge)', partition_by=none
            )) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(steps) }}
{%- endmacro -%}

{#- Files and bytes of a table, or of one partition of it. -#}
{%- macro files_of(relation, bytes, partition_by, partition_value) -%}
    {%- for row in tidemark.query_rows(tidemark.file_sizes_sql(relation, bytes, partition_by)) if not partition_by or row['partition_value'] == partition_value -%}
        {{ return(tidemark._files(row)) }}
    {%- endfor -%}
    {{ return({'files': 0, 'bytes': 0}) }}
{%- endmacro -%}

{%- macro _files(row) -%}
    {{ return({'files': row['file_count'] | int, 'bytes': row['byte_count'] | int}) }}
{%- endmacro -%}

{%- macro shown_files(files) -%}
    {{ return(files['files'] ~ (' file' if files['files'] == 1 else ' files') ~ ', ' ~ files['bytes'] ~ ' bytes') }}
{%- endmacro -%}
