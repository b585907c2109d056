{#- Make the entity's tables and views where they are missing, or bring those that are there up to the plan. A full refresh writes a new
    log beside the old one, so that the old one stays until the new one is whole: see swap_logs(). -#}
{%- macro log__prepare(opened, staged) -%}
    {%- set cfg, relations, state, plan = opened['cfg'], opened['relations'], opened['state'], staged['plan'] -%}
    {%- if not state['first'] and not state['recorded'].get('marks_rejects') -%}{%- do tidemark.evolve_rejects(relations['rejects']) -%}{%- endif -%}
    {%- if not state['first'] -%}{%- do tidemark.tell_layout(cfg, state['recorded']) -%}{%- endif -%}
    {%- if staged.get('alters') -%}{%- do tidemark.evolve_tables(opened, plan) -%}{%- endif -%}
    {%- set make = tidemark.for_format(cfg['file_format'], 'create_table') -%}
    {%- if state['first'] and state['has_log'] -%}
        {#- Also what a rehash left that was taken for dead: it would take names with the new log. -#}
        {%- do tidemark.drop_new_log(relations) -%}
    {%- endif -%}
    {%- set targets = tidemark.write_relations(opened) -%}
    {%- if not state['first'] and tidemark.has_deltas(cfg) and not tidemark.had_deltas(state['recorded']) and not tidemark.relation_exists(relations['supplied']) -%}
        {#- the first delta -#}
        {%- set table = tidemark.side_tables(cfg, plan)['supplied'] -%}
        {%- do tidemark.clear_debris([relations['supplied']]) -%}
        {%- do tidemark.run_statements(make(relations['supplied'], table['columns'], table['options'])) -%}
    {%- endif -%}
    {%- if state['first'] -%}
        {%- do run_query('create schema if not exists ' ~ cfg['target'].include(identifier=false)) -%}
        {%- do tidemark.clear_debris([
            targets['log_table'], targets['sensitive'], targets['supplied'], targets['rejects'], targets['staging'], targets['landed'],
        ]) -%}
        {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'create_log')(cfg, targets, tidemark.log_columns(plan))) -%}
        {%- for name, table in tidemark.side_tables(cfg, plan).items() -%}
            {%- do tidemark.run_statements(make(targets[name], table['columns'], table['options'])) -%}
        {%- endfor -%}
        {%- if state['has_log'] -%}
            {%- do tidemark.evolve_rejects(targets['rejects']) -%}
        {%- else -%}
            {%- do tidemark.make_current(cfg, plan, relations) -%}
            {%- do tidemark.make_history_view(cfg, plan, relations) -%}
        {%- endif -%}
    {%- endif -%}
{%- endmacro -%}

{#- The tables beside log and current that an entity has, by what they hold: their columns and how they are made. -#}
{%- macro side_tables(cfg, plan) -%}
    {%- set tables = {} -%}
    {%- if plan['sensitive'] -%}
        {%- do tables.update({'sensitive': {'columns': tidemark.sensitive_columns(plan), 'options': {'side': true}}}) -%}
    {%- endif -%}
    {%- if tidemark.has_deltas(cfg) -%}
        {%- do tables.update({'supplied': {'columns': tidemark.supplied_columns(), 'options': {'side': true}}}) -%}
    {%- elif cfg['extract'] == 'events' -%}
        {%- do tables.update({
            'staging': {'columns': tidemark.staging_columns(cfg, plan), 'options': {'partition_by': ['_batch_id']}},
            'landed': {'columns': tidemark.landed_columns(), 'options': {}},
        }) -%}
    {%- endif -%}
    {%- do tables.update({'rejects': {'columns': tidemark.rejects_columns(), 'options': {'side': true}}}) -%}
    {{ return(tables) }}
{%- endmacro -%}

{#- Where a run writes: the entity's relations, with log and sensitive of a full refresh beside the old ones, and whatever cannot be
    appended to as it is of another format. -#}
{%- macro write_relations(opened) -%}
    {%- set targets = dict(opened['relations']) -%}
    {%- if opened['state']['first'] and opened['state'].get('has_log') -%}
        {%- set others = ['rejects', 'supplied'] if tidemark.changes_format(opened['cfg'], opened['state']['recorded']) else [] -%}
        {%- for name in ['log', 'log_table', 'sensitive', 'staging', 'landed'] + others -%}
            {%- do targets.update({name: tidemark.new_relation(targets[name])}) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(targets) }}
{%- endmacro -%}

{#- The current table; a view or a table of somebody else's gives way only to a full refresh. -#}
{%- macro make_current(cfg, plan, relations) -%}
    {%- set existing = load_cached_relation(relations['current']) -%}
    {%- set stays = cfg['location_root'] and cfg['file_format'] != 'parquet' and existing is not none and existing.is_table -%}
    {%- if not stays and existing is not none and tidemark.relation_exists(relations['current']) -%}
        {%- do run_query(('drop view if exists ' ~ relations['current']) if existing.is_view else tidemark.drop_table_sql(relations['current'])) -%}
    {%- endif -%}
    {%- do tidemark.clear_debris([relations['current']]) -%}
    {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'create_table')(
        relations['current'],
        tidemark.current_columns(cfg, plan),
        {
            'partition_by': cfg['partition_by'],
            'cluster_by': cfg['cluster_by'],
            'location_root': cfg['location_root'],
            'root': relations.get('root'),
            'replaces': stays,
            'properties': tidemark.current_properties(cfg),
            'description': cfg['description'] if cfg['persist_docs'].get('relation') else '',
        },
    )) -%}
{%- endmacro -%}

{#- Properties of the current table: those of the model, which win, the write mode, and statistics of the columns by which a table of
    hashed keys is looked up; of those by which it is clustered Delta keeps them anyway. -#}
{%- macro current_properties(cfg) -%}
    {%- set properties = tidemark.write_mode_properties(cfg) -%}
    {%- if cfg['file_format'] == 'delta' and not cfg['cluster_by'] -%}
        {%- do properties.update({'delta.dataSkippingStatsColumns': '_key_hash'}) -%}
    {%- endif -%}
    {%- do properties.update(cfg['table_properties']) -%}
    {{ return(properties) }}
{%- endmacro -%}

{#- Bring current and log to another write mode. Rows that are marked stay so until `compact` writes their files. -#}
{%- macro change_write_mode(cfg, relations) -%}
    {%- set wanted = 'true' if cfg['write_mode'] == 'merge_on_read' else 'false' -%}
    {%- for name in ['log', 'current'] if name == 'log' or 'delta.enableDeletionVectors' not in cfg['table_properties'] -%}
        {%- do run_query('alter table ' ~ relations[name] ~ " set tblproperties ('delta.enableDeletionVectors' = '" ~ wanted ~ "')") -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Write current anew from the log: one commit of its own table, so that it is as it was until the new rows are whole. -#}
{%- macro rebuild_current(cfg, plan, state, relations) -%}
    {%- do tidemark.apply_to_current(cfg, plan, relations, {
        'rebuild': true, 'last_date': state['last_date'], 'last_date_commit_id': state['last_date_commit_id'], 'last_extract': state['last_extract'],
        'commit_id': state['last_date_commit_id'], 'business_date': state['last_date'], 'forward': false,
    }) -%}
{%- endmacro -%}

{#- The view of the log's rows in force, that is, of what changed on each business date. -#}
{%- macro make_history_view(cfg, plan, relations) -%}
    {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'evolve_log')(relations, tidemark.log_columns(plan))) -%}
    {%- do run_query(tidemark.history_view_sql(plan, relations)) -%}
{%- endmacro -%}

{#- What may be written beside the old one to take its name: see swap_logs(). -#}
{%- macro swapped_relations() -%}
    {{ return(['rejects', 'supplied', 'sensitive', 'staging', 'landed', 'log_table']) }}
{%- endmacro -%}

{#- Drop that, in whatever format it was begun: the log of one is a table, of another a view of slices. -#}
{%- macro drop_new_log(relations) -%}
    {%- do tidemark.drop_any(tidemark.new_relation(relations['log'])) -%}
    {%- set begun = dict(relations, log_table=tidemark.side_relation(relations['current'], 'log_slices')) -%}
    {%- for name in tidemark.swapped_relations() -%}{%- do tidemark.drop_table(tidemark.new_relation(begun[name])) -%}{%- endfor -%}
{%- endmacro -%}

{#- Let columns of a table, {name, from, type}, take wider values, and their structs more fields; no format but Delta and Iceberg can, see
    wider_type(). The one place that alters a type. -#}
{%- macro widen_columns(relation, columns) -%}
    {%- do tidemark.take_names(relation, columns) -%}
    {%- set added, widened = [], {} -%}
    {%- for column in columns -%}
        {%- set from_type, type = tidemark.kept_type(column['from'], tidemark.lake_format()), tidemark.kept_type(column['type'], tidemark.lake_format()) -%}
        {%- set changes = tidemark.type_changes(tidemark.quote_identifier(column['name']), from_type, type) -%}
        {%- for path, type in changes['added'].items() -%}{%- do added.append(path ~ ' ' ~ tidemark.quoted_type(type)) -%}{%- endfor -%}
        {%- do widened.update(changes['widened']) -%}
    {%- endfor -%}
    {%- do tidemark.run_statements(
        (['alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')'] if added else [])
        + (tidemark.for_format(tidemark.lake_format(), 'widen_columns')(relation, widened) if widened else [])
    ) -%}
{%- endmacro -%}
