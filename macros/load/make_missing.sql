{#- Make anew what of an entity was dropped by hand: current and the views from the log, as the last commit left them, the tables beside
    the log without the rows that the log does not have, which is said. What cannot be done without stops the run: sensitive values, and
    the register of files, without which all that lies there would be taken again. -#}
{%- macro make_missing(opened, present) -%}
    {%- set cfg, relations, state = opened['cfg'], opened['relations'], opened['state'] -%}
    {%- set recorded = state['recorded'] -%}
    {%- set missing = tidemark.needed_relations(recorded) | reject('in', present) | list -%}
    {#- A run that died after it had made current, and before it had filled it, leaves the first version of a table. -#}
    {%- set existing = load_cached_relation(relations['current']) -%}
    {%- if 'current' not in missing and not (existing is not none and existing.is_view)
        and tidemark.table_version(recorded['file_format'], relations['current']) == 0
        and tidemark.has_rows(relations['log']) -%}
        {%- do missing.append('current') -%}
    {%- endif -%}
    {%- if not missing -%}{{ return(none) }}{%- endif -%}
    {%- set lost = [] -%}
    {%- for name in missing if name == 'sensitive' or (name == 'landed' and tidemark.lands_in_files(cfg)) -%}
        {%- do lost.append(relations[name] | string) -%}
    {%- endfor -%}
    {%- if lost -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ lost | join(' and ') ~ (' is' if lost | length == 1 else ' are') ~ ' gone, and the log does not have what was in '
            ~ ('it' if lost | length == 1 else 'them') ~ '. Restore the table, or start a new log with --full-refresh'
        ) -%}
    {%- elif opened['run'].get('dry_run') -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': of its relations these are gone: ' ~ missing | join(', ') ~ '. The next run makes them anew') -%}
    {%- endif -%}

    {%- set recorded_cfg = tidemark.recorded_cfg(cfg, recorded) -%}
    {%- set plan = tidemark.recorded_plan(recorded, cfg) -%}
    {%- if 'log' in missing or 'history' in missing -%}{%- do tidemark.make_history_view(recorded_cfg, plan, relations) -%}{%- endif -%}
    {%- for name, table in tidemark.side_tables(dict(cfg, has_deltas=tidemark.had_deltas(recorded)), plan).items() if name in missing -%}
        {%- do tidemark.clear_debris([relations[name]]) -%}
        {%- do tidemark.run_statements(tidemark.for_format(recorded['file_format'], 'create_table')(relations[name], table['columns'], table['options'])) -%}
        {%- if name == 'staging' -%}
            {%- do run_query(tidemark.insert_sql(relations[name], table['columns'], tidemark.logged_staging_sql(cfg, plan, relations))) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if 'current' in missing -%}
        {%- if 'current' not in present -%}{%- do tidemark.make_current(recorded_cfg, plan, relations) -%}{%- endif -%}
        {%- do tidemark.rebuild_current(recorded_cfg, plan, state, relations) -%}
    {%- endif -%}

    {%- set left_out = {
        'rejects': ', without what was rejected: of extracts, load the dates again',
        'supplied': ', without what deltas supplied unchanged: load their dates again before a date between them comes late',
        'staging': ' from the log, without what it does not have of the events',
    } -%}
    {%- for name in missing -%}
        {%- do log(cfg['entity'] ~ ': ' ~ relations[name] ~ ' was gone and is made anew' ~ left_out.get(name, ' from the log'), info=true) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- A table that is gone, with these rows: under another name until it is whole. -#}
{%- macro make_anew(file_format, relation, columns, options, rows_sql) -%}
    {%- set new = tidemark.new_relation(relation) -%}
    {%- do tidemark.drop_table(new) -%}
    {%- do tidemark.clear_debris([new, relation]) -%}
    {%- do tidemark.run_statements(
        tidemark.for_format(file_format, 'create_table')(new, columns, options)
        + [tidemark.insert_sql(new, columns, rows_sql)] + tidemark.rename_table_sql(new, relation)
    ) -%}
{%- endmacro -%}

{#- The relations that an entity has, by what they hold. -#}
{%- macro needed_relations(recorded) -%}
    {%- set apart = recorded['columns'] | selectattr('sensitive') | list -%}
    {{ return(
        ['current', 'log', 'history', 'rejects'] + (['staging', 'landed'] if recorded['extract'] == 'events' else [])
        + (['supplied'] if tidemark.had_deltas(recorded) else [])
        + (['sensitive'] if apart else [])
    ) }}
{%- endmacro -%}

{#- Which of these relations are there, by what they hold: one question to the metastore. -#}
{%- macro present_relations(relations) -%}
    {%- set names = {} -%}
    {%- for name, relation in relations.items() if name != 'root' -%}
        {%- do names.setdefault(relation.identifier | lower, []).append(name) -%}
    {%- endfor -%}
    {%- set present = [] -%}
    {%- for name in tidemark.table_names(relations['current'].include(identifier=false), names | join('|')) -%}
        {%- do present.extend(names.get(name | lower, [])) -%}
    {%- endfor -%}
    {{ return(present) }}
{%- endmacro -%}
