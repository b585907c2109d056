{#- DDL events: what they say, what they do to the tables by policy. -#}

{#-
    The DDL events of the batch that concern the entity's table and were not applied yet, in landing order. Each has
    `changes` to columns, and `cuts` the batch where rows before and after it need other columns. A snapshot's DDL only
    tells the columns: it never changes a target.
-#}
{%- macro statements_of(opened, landing, batch) -%}
    {%- set cfg, state, relations = opened['cfg'], opened['state'], opened['relations'] -%}
    {%- set known = [] if state['first']
        else tidemark.first_column('select distinct _event_id from ' ~ relations['log'] ~ " where _operation = 'T' and " ~ tidemark.in_force_expr()) -%}
    {%- set statements, told, followed = [], [], batch['followed'] -%}
    {%- set now = namespace(columns=batch['source_columns']) -%}
    {%- for row in tidemark.query_rows(tidemark.ddl_events_sql(landing['events'])) -%}
        {%- set said = tidemark.canonical_statement(row, batch, cfg) if row['_operation'] else tidemark.debezium_statement(row, batch) -%}
        {#- what a delivery repeats is the same letter for letter; one statement on several tables has one place in the source -#}
        {%- set text = row['_event_id'] ~ '|' ~ (row['_ddl'] or '') ~ '|' ~ (row['_table_changes'] or '') -%}
        {%- if said and text not in told -%}
            {%- do told.append(text) -%}
            {%- do tidemark.check_told_types(cfg['entity'], said['columns']) -%}
            {%- if row['_is_snapshot'] or row['_event_id'] in known -%}
                {%- if said['columns'] and row['_event_id'] not in known -%}
                    {%- set now.columns = said['columns'] -%}
                {%- endif -%}
                {%- if not statements -%}{%- do batch.update({'source_columns': now.columns}) -%}{%- endif -%}
            {%- else -%}
                {%- set statement = {
                    'landing_num': row['_landing_num'], 'event_time': row['_event_time'], 'sequence_num': row['_sequence_num'], 'event_id': row['_event_id'],
                    'operation': said['operation'], 'text': row['_ddl'] or said['operation'],
                    'columns': said['columns'] or now.columns, 'changes': [], 'effect': 'none', 'cuts': false,
                } -%}
                {%- do tidemark.judge_statement(cfg, batch, statement, said, now.columns) -%}
                {%- set now.columns = statement['columns'] -%}
                {%- do statements.append(statement) -%}
            {%- endif -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if batch['followed'] != followed -%}
        {%- do log(cfg['entity'] ~ ': a statement gave the table another name: it is ' ~ batch['followed'] | join(', then ') ~ ' from now on', info=true) -%}
    {%- endif -%}
    {{ return(statements) }}
{%- endmacro -%}


{#-
    With `ddl.truncate_table: fail` the batch is cut at its first truncate that is not known: that ends the run there, as a
    statement of another kind does. What is an event of a row otherwise may be one, by `apply_as_truncates`.
-#}
{%- macro cut_at_truncate(opened, landing, batch) -%}
    {%- set cfg, state, relations = opened['cfg'], opened['state'], opened['relations'] -%}
    {%- set stretch = tidemark.stretches_of(batch)[0] -%}
    {#- a column that is new behind it is not judged before it -#}
    {%- set looking = dict(opened, cfg=dict(cfg, ddl=dict(cfg['ddl'], add_column='apply' if cfg['ddl']['add_column'] == 'fail' else cfg['ddl']['add_column']))) -%}
    {%- set plan = tidemark.plan_stretch(looking, landing, tidemark.batch_at(batch, stretch), stretch) -%}
    {%- set found = tidemark.query_rows(tidemark.truncates_sql(cfg, plan, landing['events'])) -%}
    {%- set known = [] -%}
    {%- if found and not state['first'] -%}
        {%- set is_found = '_event_id in (' ~ tidemark.string_literals(found | map(attribute='_event_id')) ~ ')' -%}
        {#- one that was ignored is in staging alone -#}
        {%- set sql = 'select _event_id from ' ~ relations['log'] ~ ' where ' ~ is_found ~ ' and ' ~ tidemark.in_force_expr()
            ~ ' union select _event_id from ' ~ tidemark.in_force_of(relations['staging'], state) ~ ' where ' ~ is_found -%}
        {%- do known.extend(tidemark.first_column(sql)) -%}
    {%- endif -%}
    {%- for row in found if row['_event_id'] not in known -%}
        {%- set number = row['_landing_num'] -%}
        {%- set statement = {
            'landing_num': number, 'sequence_num': row['_sequence_num'], 'event_id': row['_event_id'], 'operation': row['_operation'], 'text': row['_operation'],
            'columns': none, 'changes': [{'kind': 'truncate_table', 'policy': 'fail', 'name': ''}], 'effect': 'none', 'cuts': true,
        } -%}
        {%- if number is none -%}
            {#- rows of a table that have no order of arrival -#}
            {%- do tidemark.raise_failed_policy(cfg, statement, statement['changes'][0], is_cut=false) -%}
        {%- endif -%}
        {%- do batch.update({'statements': batch['statements'] | selectattr('landing_num', 'lt', number) | list + [statement]}) -%}
        {{ return(none) }}
    {%- endfor -%}
{%- endmacro -%}


{#- The statements that are logged with a stretch, with the fills of columns that they added. -#}
{%- macro statements_within(opened, plan, batch, stretch) -%}
    {%- set within = [] -%}
    {%- for statement in batch['statements'] if tidemark.is_within(statement, stretch) -%}
        {%- do within.append(statement) -%}
        {%- do within.extend(tidemark.with_values(opened, plan, statement.get('fills', []))) -%}
    {%- endfor -%}
    {%- if batch['source_columns'] is none and not stretch['from'] -%}
        {%- do within.extend(tidemark.with_values(opened, plan, tidemark.fills_of_schemas(opened, plan, batch))) -%}
    {%- endif -%}
    {{ return(within) }}
{%- endmacro -%}


{#-
    Bring a DDL event to the tables: rename and drop columns; added and wider ones follow from the plan. Doing it twice
    does nothing the second time, as what is there is looked at. `recorded` and `batch` are told. Without relations they
    alone are: what will be recorded.
-#}
{%- macro apply_statement(opened, recorded, batch, statement) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- for change in statement['changes'] if change['policy'] == 'fail' -%}
        {%- do tidemark.raise_failed_policy(cfg, statement, change) -%}
    {%- endfor -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set keys = cfg['keys'] | map('lower') | list -%}
    {%- for change in statement['changes'] -%}
        {%- if change['kind'] == 'add_column' -%}
            {%- set is_taken = change['policy'] != 'ignore' or change['name'] | lower in declared -%}
            {%- if is_taken and tidemark.was_dropped(recorded, change['name']) -%}
                {%- do tidemark.put_aside(relations, recorded, change['name']) -%}
            {%- endif -%}
            {%- if change['policy'] != 'ignore' and change['name'] not in batch['names'] -%}
                {%- do batch['names'].append(change['name']) -%}
            {%- endif -%}
            {%- set default = none if change['column'].get('default_is_stand_in') else change['column'].get('default') -%}
            {%- if default is not none and not cfg['sequence_by'] and (change['policy'] == 'apply' or change['name'] | lower in declared) -%}
                {%- do statement.setdefault('fills', []).append({
                    'operation': 'ADD_COLUMN', 'effect': 'fill', 'event_id': local_md5(statement['event_id'] ~ '|' ~ change['name']),
                    'sequence_num': statement['sequence_num'], 'landing_num': statement['landing_num'], 'event_time': statement['event_time'],
                    'column': change['name'], 'default': default, 'encoding': change['column'].get('default_encoding', change['column']['encoding']),
                }) -%}
            {%- endif -%}
        {%- elif change['kind'] == 'rename_column' and change['policy'] == 'apply' and recorded -%}
            {%- do tidemark.check_name_of_key(cfg, recorded, statement, change) -%}
            {%- do tidemark.rename_column(cfg, relations, recorded, change['old'], change['name']) -%}
        {%- elif change['kind'] == 'drop_column' and change['policy'] == 'apply' and recorded and change['name'] | lower not in keys -%}
            {%- do tidemark.drop_column(cfg, relations, recorded, change['name']) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Stop at a statement by policy, or because it cannot be followed; `is_cut`: the batch was cut there. -#}
{%- macro raise_failed_policy(cfg, statement, change, is_cut=true) -%}
    {%- set why, advice = change.get('stops') or [
        'and ddl.' ~ change['kind'] ~ ' is fail',
        ('The type of `' ~ change['name'] ~ '` went from ' ~ change['was'] ~ ' to ' ~ change['type'] ~ ', which the target cannot follow in place: declare a data_type for it that holds both, or '
         if change['kind'] == 'change_type' else '')
        ~ 'set ddl.' ~ change['kind'] ~ ' to apply or ignore under meta.tidemark, then run again',
    ] -%}
    {%- do tidemark.raise_error('data',
        cfg['entity'] ~ ': the source did `' ~ statement['text'] ~ '`, ' ~ why
        ~ ('; what came before it was applied. ' if is_cut else '; nothing was applied. ') ~ advice
    ) -%}
{%- endmacro -%}


{#- A column that takes the name of the key: the rows are known here by what the one that was called so had. -#}
{%- macro check_name_of_key(cfg, recorded, statement, change) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set old, new = change['old'] | lower, change['name'] | lower -%}
    {%- for column in recorded['columns'] if column['name'] | lower == new and column['role'] == 'key' and old != new and old not in declared -%}
        {%- do tidemark.raise_failed_policy(cfg, statement, dict(change, stops=[
            'and `' ~ column['name'] ~ '`, by which rows are known here, is what was `' ~ change['old'] ~ '`',
            'Begin anew with --full-refresh on a snapshot from after the statement',
        ])) -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Rename a column wherever it is stored. Its values, and its name in hashes, stay. -#}
{%- macro rename_column(cfg, relations, recorded, old, new) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {#- names in another case are the same -#}
    {%- if old | lower in declared or old | lower == new | lower -%}{{ return(none) }}{%- endif -%}
    {%- for column in recorded['columns'] if column['name'] | lower == old | lower -%}
        {%- do tidemark.put_aside(relations, recorded, new, old) -%}
        {%- for name in ['log_table', 'current', 'staging', 'sensitive'] if relations and tidemark.relation_exists(relations[name]) -%}
            {%- do tidemark.rename_in(relations[name], old, new) -%}
        {%- endfor -%}
        {%- do column.update({'name': new}) -%}
        {%- do recorded.update({'views_are_old': true}) -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Make a name free for a column that takes it, the one that is called `old` so far, or none: what a dropped one has under it is kept beside
    current under another name. One that was declared before it existed has no values, and goes. -#}
{%- macro put_aside(relations, recorded, name, old=none) -%}
    {%- set aside = tidemark.free_name(name, recorded['columns'] | map(attribute='name') | map('lower') | list) -%}
    {#- without relations: where there may be values -#}
    {%- set kept = namespace(is_any=not relations) -%}
    {%- for table in ['log_table', 'current', 'staging', 'sensitive'] if relations and tidemark.relation_exists(relations[table]) -%}
        {%- set present = adapter.get_columns_in_relation(relations[table]) | map(attribute='name') | map('lower') | list -%}
        {%- for prefix in ['', '_before_'] -%}
            {%- set stored = prefix ~ name -%}
            {#- of a run that died a table may be done -#}
            {%- set is_done = (prefix ~ aside) | lower in present or (old is not none and (prefix ~ old) | lower not in present) -%}
            {%- if stored | lower in present and not is_done -%}
                {%- if table != 'current' and tidemark.has_rows(relations[table], tidemark.quote_identifier(stored) ~ ' is not null') -%}
                    {%- do run_query('alter table ' ~ relations[table] ~ ' rename column ' ~ tidemark.quote_identifier(stored)
                        ~ ' to ' ~ tidemark.quote_identifier(prefix ~ aside)) -%}
                    {%- do present.append((prefix ~ aside) | lower) -%}
                {%- else -%}
                    {%- do run_query('alter table ' ~ relations[table] ~ ' drop column ' ~ tidemark.quote_identifier(stored)) -%}
                {%- endif -%}
            {%- endif -%}
        {%- endfor -%}
        {%- if table in ['log_table', 'sensitive'] and aside | lower in present -%}{%- set kept.is_any = true -%}{%- endif -%}
    {%- endfor -%}
    {%- set columns = [] -%}
    {%- for column in recorded['columns'] -%}
        {%- if column['name'] | lower != name | lower -%}
            {%- do columns.append(column) -%}
        {%- elif kept.is_any -%}
            {%- do columns.append(dict(column, name=aside, gone=true)) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- do recorded.update({'columns': columns, 'views_are_old': true}) -%}
{%- endmacro -%}


{#- Whether a column of this name was taken away from current. -#}
{%- macro was_dropped(recorded, name) -%}
    {%- for column in (recorded or {}).get('columns', []) if column['name'] | lower == name | lower and column.get('gone') -%}{{ return(true) }}{%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}


{#- Take a column away from current. The log keeps it and its values. -#}
{%- macro drop_column(cfg, relations, recorded, name) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- if name | lower in declared -%}{{ return(none) }}{%- endif -%}
    {%- for column in recorded['columns'] if column['name'] | lower == name | lower and not column['gone'] -%}
        {%- set present = adapter.get_columns_in_relation(relations['current']) | map(attribute='name') | map('lower') | list if relations else [] -%}
        {%- if name | lower in present -%}
            {%- do run_query('alter table ' ~ relations['current'] ~ ' drop column ' ~ tidemark.quote_identifier(column['name'])) -%}
        {%- endif -%}
        {%- do column.update({'gone': true}) -%}
    {%- endfor -%}
{%- endmacro -%}


{#- Fills of columns that are stored, with the value as SQL. -#}
{%- macro with_values(opened, plan, fills) -%}
    {%- set valued = [] -%}
    {%- for fill in fills -%}
        {%- for column in plan['columns'] if column['name'] | lower == fill['column'] | lower and not column['key'] -%}
            {%- set value = tidemark.decode_expr(tidemark.string_literal(fill['default']), fill['encoding'], column['type']) -%}
            {%- if not tidemark.is_trial(opened['run']) and run_query('select ' ~ value ~ ' is null')[0][0] -%}
                {%- do tidemark.warn(opened['cfg']['entity'], 'the default of the new column `' ~ column['name'] ~ '` is no value of type '
                    ~ column['type'] ~ ': the rows that were there have NULL') -%}
            {%- endif -%}
            {%- do valued.append(dict(fill, column=column['name'], value=value)) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(valued) }}
{%- endmacro -%}


{#- Fills of the columns that the inline schemas of a batch show to be new at the source. -#}
{%- macro fills_of_schemas(opened, plan, batch) -%}
    {%- set state = opened['state'] -%}
    {%- set fills = [] -%}
    {%- if opened['cfg']['sequence_by'] -%}{{ return(fills) }}{%- endif -%}
    {%- for column, number in tidemark.new_in_schemas(plan, batch, none if state['first'] else state['recorded']) -%}
        {%- do fills.append({
            'operation': 'ADD_COLUMN', 'effect': 'fill', 'event_id': local_md5('add_column|' ~ column['name'] ~ '|' ~ number),
            'sequence_num': number, 'landing_num': number, 'column': column['name'],
            'default': column['default']['text'], 'encoding': column['default']['encoding'],
        }) -%}
    {%- endfor -%}
    {{ return(fills) }}
{%- endmacro -%}
