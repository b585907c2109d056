{#- Columns of the target for one stretch, after its DDL event was brought to the tables. -#}
{%- macro plan_stretch(opened, landing, batch, stretch) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set recorded = none if state['first'] else state['recorded'] -%}
    {%- set arrived = none if landing['columns'] is none else tidemark.by_name(landing['columns']) -%}
    {%- set meta = tidemark.event_columns() | map(attribute='name') | list + ['_landing_num', '_file'] -%}
    {%- for column in landing['columns'] or [] if column['name'] | lower not in meta and not column['name'].startswith('_before_') and column['name'] not in batch['names'] -%}
        {%- do batch['names'].append(column['name']) -%}
    {%- endfor -%}
    {%- set types = tidemark.declared_types(cfg) -%}
    {%- set to_come = tidemark.names_to_come(batch, stretch) -%}
    {%- set found = {
        'names': batch['names'], 'schemas': batch['schemas'], 'ddl': batch['source_columns'], 'arrived': arrived,
        'renames': batch['renames'], 'refused': batch['refused'] + to_come, 'to_come': to_come,
        'has_schemaless': batch['has_schemaless'],
    } -%}
    {%- set typed_names = types.keys() | list -%}
    {%- if recorded -%}{%- set typed_names = typed_names + recorded['columns'] | map(attribute='name') | map('lower') | list -%}{%- endif -%}
    {%- do found.update({'inferred': tidemark.inferred_types(landing, batch, typed_names)}) -%}
    {%- set plan = tidemark.event_plan(cfg, found, types, recorded) -%}
    {%- do tidemark.check_new_columns(cfg, plan, recorded) -%}
    {%- set plan = dict(plan, recorded=dict(plan['recorded'], **tidemark.pepper_of(cfg, plan))) -%}
    {%- if recorded -%}
        {%- set drift = tidemark.config_drift(cfg, plan, recorded) + tidemark.choice_drift(plan, recorded) -%}
        {%- do tidemark.check_drift(cfg, drift, tidemark._anew_from_events()) -%}
    {%- endif -%}
    {%- do tidemark.check_told_columns(cfg, plan, dict(found, unreadable=batch.get('unreadable')), recorded) -%}
    {%- set unsigned = tidemark.check_unsigned(opened, plan, recorded) -%}
    {%- set guessed, before = [], recorded['source'] if recorded else {} -%}
    {%- for name, type in found['inferred'].items() if type == 'string' -%}{%- do guessed.append(name | lower) -%}{%- endfor -%}
    {{ return(dict(plan, guessed_texts=guessed, recorded=dict(plan['recorded'], source={
        'tables': (before.get('tables', []) + batch['tables']) | unique | list,
        'followed': batch['followed'] if stretch['is_last'] else before.get('followed', []), 'named': batch['named'],
        'columns': batch['source_columns'], 'refused': batch['refused'], 'by_content': batch['by_content'], 'identifying': batch['identifying'],
        'has_moves': before.get('has_moves', false), 'has_partial_moves': before.get('has_partial_moves', false),
        'open_snapshot': before.get('open_snapshot'),
        'told': tidemark.told_names(batch, recorded) if cfg['format'] == 'debezium' else none, 'unsigned': unsigned,
    }))) }}
{%- endmacro -%}

{#- Refuses to make tables of columns that nothing tells: of the key alone the names are known, and a type that is guessed would stay. -#}
{%- macro check_told_columns(cfg, plan, found, recorded) -%}
    {%- do adapter.call_function('tidemark.rules.event_plan.check_told_columns', cfg, plan, found, recorded) -%}
{%- endmacro -%}

{#- Refuses what is stored with negative numbers and never has any at the source: an earlier version took them as they are written. What
    the log alone has is told. The columns of which this is known are recorded, and returned, by their names in hashes. -#}
{%- macro check_unsigned(opened, plan, recorded) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set names = ((recorded or {}).get('source') or {}).get('unsigned', []) | list -%}
    {%- for column in plan['columns'] if 'unsigned' in column['encodings'].values() and column['hash_name'] not in names and not column.get('stays') and not opened['run'].get('dry_run') -%}
        {%- set is_negative = tidemark.quote_identifier(column['name']) ~ ' < 0' -%}
        {%- if column['recorded_type'] is not none and tidemark._base_type(column['recorded_type']) in ['tinyint', 'smallint', 'int', 'bigint', 'decimal', 'float', 'double'] -%}
            {%- if tidemark.has_rows('(\n' ~ tidemark.existing_rows_sql(cfg, tidemark.recorded_plan(recorded), relations) ~ '\n)', is_negative) -%}
                {%- do tidemark.raise_error('data',
                    cfg['entity'] ~ ': column `' ~ column['name'] ~ '` is unsigned at the source, and negative numbers are stored of it: an earlier version took them as the events'
                    ~ ' write those that are too large for a bigint; nothing was written. Begin anew ' ~ tidemark._anew_from_events() ~ ', or keep what is written with encodings: {'
                    ~ column['name'] ~ ': number} under meta.tidemark'
                ) -%}
            {%- elif not column['sensitive'] and tidemark.has_rows(relations['log'], is_negative ~ ' and ' ~ tidemark.in_force_expr()) -%}
                {%- do tidemark.warn(cfg['entity'], 'column `' ~ column['name'] ~ '` is unsigned at the source, and the history has negative numbers of it, as the events write'
                    ~ ' those that are too large for a bigint. To have them right there, begin anew ' ~ tidemark._anew_from_events()) -%}
            {%- endif -%}
        {%- endif -%}
        {%- do names.append(column['hash_name']) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{%- macro _anew_from_events() -%}
    {{ return('from the events that are still there with --full-refresh (the old one is kept)') }}
{%- endmacro -%}

{#- Names that a DDL event of the batch brings: a later one, or one whose policy leaves them out; not those that a column has before. -#}
{%- macro names_to_come(batch, stretch) -%}
    {{ return(adapter.call_function('tidemark.rules.event_plan.names_to_come', batch, stretch)) }}
{%- endmacro -%}

{#- Types of columns that neither YAML nor a schema tells, from the values of the batch. -#}
{%- macro inferred_types(landing, batch, typed_names) -%}
    {%- set told = typed_names | list -%}
    {%- for columns in batch['schemas'].values() -%}
        {%- do told.extend(columns | map(attribute='name') | map('lower') | list) -%}
    {%- endfor -%}
    {%- do told.extend((batch['source_columns'] or []) | map(attribute='name') | map('lower') | list) -%}
    {%- set untold = batch['names'] | map('lower') | reject('in', told) | list -%}
    {%- if not untold or landing['columns'] is not none or batch['is_empty'] -%}{{ return({}) }}{%- endif -%}
    {%- set text = run_query(tidemark.inferred_schema_sql(landing['events']))[0][0] -%}
    {%- set inferred = {} -%}
    {%- for field in tidemark._struct_fields(modules.re.sub('^(OBJECT|STRUCT)<', '', text)[:-1]) -%}
        {%- set base = field['type'].split('<')[0].split('(')[0] | lower -%}
        {#- A whole number that no bigint holds, such as an unsigned id, would share a double with its neighbours. -#}
        {%- set is_whole = modules.re.search('^decimal[(][0-9]+, *0[)]$', field['type'] | lower) -%}
        {%- do inferred.update({field['name']: 'decimal(38,0)' if is_whole else {
            'bigint': 'bigint', 'double': 'double', 'decimal': 'double', 'float': 'double', 'boolean': 'boolean',
        }.get(base, 'string')}) -%}
    {%- endfor -%}
    {{ return(inferred) }}
{%- endmacro -%}

{#- A column that the source has got, by the policy for added columns. -#}
{%- macro check_new_columns(cfg, plan, recorded) -%}
    {%- do adapter.call_function('tidemark.rules.event_plan.check_new_columns', cfg, plan, recorded) -%}
{%- endmacro -%}
