{#- Bring the tables of an entity that has a log up to its plan, once a load may write: new columns are added, NULL in every row that is
    there; types widen; a NOT NULL that the YAML has no more goes, or current would refuse what the log has by then. -#}
{%- macro evolve_tables(opened, plan) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set widened = tidemark.widened_columns(plan) -%}
    {%- if plan['added'] or widened -%}
        {%- for name in tidemark.tables_of_columns(cfg, plan, 'log_table') -%}
            {%- set relation = relations[name] -%}
            {%- if name == 'sensitive' and not tidemark.relation_exists(relation) -%}
                {%- set table = tidemark.side_tables(cfg, plan)[name] -%}
                {%- do tidemark.run_statements(tidemark.for_format(cfg['file_format'], 'create_table')(relation, table['columns'], table['options'])) -%}
            {%- endif -%}
            {%- set changes = tidemark.changes_to_come(cfg, plan, name, tidemark.describe_query('select * from ' ~ relation)) -%}
            {%- for column in changes['left'] -%}{%- do tidemark.take_column_away(cfg, relation, column) -%}{%- endfor -%}
            {%- do tidemark.add_columns(relation, changes['added']) -%}
            {%- do tidemark.widen_columns(relation, changes['widened']) -%}
        {%- endfor -%}
        {%- do tidemark.make_history_view(cfg, plan, relations) -%}
    {%- endif -%}
    {%- do tidemark.free_columns(relations['current'], tidemark.freed_columns(opened, plan)) -%}
    {%- if tidemark.has_other_mode(opened) -%}{%- do tidemark.change_write_mode(cfg, relations) -%}{%- endif -%}
{%- endmacro -%}

{#- Whether a load with this plan alters tables that are there; such a load stages no rows of the log. -#}
{%- macro alters_tables(opened, plan) -%}
    {%- if opened['state']['first'] or opened['state'].get('is_evolved') -%}{{ return(false) }}{%- endif -%}
    {{ return(
        plan['added'] | length > 0 or tidemark.widened_columns(plan) | length > 0 or tidemark.has_other_mode(opened)
        or tidemark.freed_columns(opened, plan) | length > 0
    ) }}
{%- endmacro -%}

{#- Columns that current has as NOT NULL and the plan has not; those of a Parquet table are never that. -#}
{%- macro freed_columns(opened, plan) -%}
    {%- set recorded = opened['state']['recorded'] -%}
    {%- if recorded['file_format'] == 'parquet' -%}{{ return([]) }}{%- endif -%}
    {%- set held = tidemark.names_required(recorded['columns']) if recorded.get('marks_not_null') else none -%}
    {{ return(tidemark.no_longer_required(opened['relations']['current'], plan['stored'], held)) }}
{%- endmacro -%}

{#- Columns that a table has as NOT NULL and that are none of these, or may be NULL by now. `held` names those that may be so, as the last
    commit recorded: where that tells enough the table is not asked. -#}
{%- macro no_longer_required(relation, columns, held=none) -%}
    {%- set required = tidemark.names_required(columns) -%}
    {%- if held is not none and not held | reject('in', required) | list -%}{{ return([]) }}{%- endif -%}
    {%- set names = [] -%}
    {%- for name in tidemark.required_names(relation) if name | lower not in required -%}{%- do names.append(name) -%}{%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- Names, in lower case, of the columns that are not to be NULL. -#}
{%- macro names_required(columns) -%}
    {%- set names = [] -%}
    {%- for column in columns if column.get('not_null') and column.get('held', true) -%}{%- do names.append(column['name'] | lower) -%}{%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- Add columns to a table, where there are any to add. -#}
{%- macro add_columns(relation, columns) -%}
    {%- do tidemark.take_names(relation, columns) -%}
    {%- if columns -%}{%- do run_query('alter table ' ~ relation ~ ' add columns (' ~ tidemark.column_definitions_expr(columns) ~ ')') -%}{%- endif -%}
{%- endmacro -%}

{#- Have a table take columns, or fields in them, under the names that they have. -#}
{%- macro take_names(relation, columns) -%}
    {%- if tidemark.has_odd_names(columns) -%}{%- do tidemark.map_columns(relation) -%}{%- endif -%}
{%- endmacro -%}

{#- Have a table map the names of its columns to those in its files. Doing it twice does nothing the second time, and readers see the same
    rows: a run may die behind it. -#}
{%- macro map_columns(relation) -%}
    {%- set statements = tidemark.for_format(tidemark.lake_format(), 'map_columns')(relation) -%}
    {%- if statements and tidemark.table_property(relation, 'delta.columnMapping.mode') in [none, 'none'] -%}
        {%- do tidemark.run_statements(statements) -%}
    {%- endif -%}
{%- endmacro -%}

{#- Rename a column of a table. -#}
{%- macro rename_stored(relation, old, new) -%}
    {%- do tidemark.map_columns(relation) -%}
    {%- do run_query('alter table ' ~ relation ~ ' rename column ' ~ tidemark.quote_identifier(old) ~ ' to ' ~ tidemark.quote_identifier(new)) -%}
{%- endmacro -%}

{#- Drop a column of a table. -#}
{%- macro drop_stored(relation, name) -%}
    {%- do tidemark.map_columns(relation) -%}
    {%- do run_query('alter table ' ~ relation ~ ' drop column ' ~ tidemark.quote_identifier(name)) -%}
{%- endmacro -%}

{#- Let columns of a table be NULL. -#}
{%- macro free_columns(relation, names) -%}
    {%- for name in names -%}
        {%- do run_query('alter table ' ~ relation ~ ' alter column ' ~ tidemark.quote_identifier(name) ~ ' drop not null') -%}
    {%- endfor -%}
{%- endmacro -%}

{%- macro has_other_mode(opened) -%}
    {{ return(opened['cfg']['write_mode'] != opened['state']['recorded'].get('write_mode', 'copy_on_write')) }}
{%- endmacro -%}

{#- The entity whose tables have been brought up to the plan. -#}
{%- macro opened_evolved(opened) -%}
    {{ return(dict(opened, state=dict(opened['state'], log_version=none, is_evolved=true))) }}
{%- endmacro -%}

{#- Take away a column that no commit in force has, as a run left it that died before its commit; not one that has values. -#}
{%- macro take_column_away(cfg, relation, column) -%}
    {%- set quoted = tidemark.quote_identifier(column['name']) -%}
    {%- set has_values = tidemark.has_rows(relation, quoted ~ ' is not null') -%}
    {%- if has_values or cfg['file_format'] == 'parquet' -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': ' ~ relation ~ ' has column `' ~ column['name'] ~ '` as ' ~ column['type'] ~ ' from a load that is not in force'
            ~ (' (a rollback undid it)' if has_values else ' (its run died), and a table of Parquet files cannot lose it')
            ~ '. Declare it as it was then, or start a new log with --full-refresh'
        ) -%}
    {%- endif -%}
    {%- do tidemark.drop_stored(relation, column['name']) -%}
{%- endmacro -%}

{#- The tables that have the columns of a plan, by what they hold. -#}
{%- macro tables_of_columns(cfg, plan, log) -%}
    {{ return([log, 'current'] + (['sensitive'] if plan['sensitive'] else []) + (['staging'] if cfg['extract'] == 'events' else [])) }}
{%- endmacro -%}
