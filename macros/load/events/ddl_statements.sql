{#- DDL events: what they say, and what of them is logged. What they do to the tables: alter_columns.sql. -#}

{#- The DDL events of the batch that concern the entity's table and were not applied yet, in landing order. Each has
    `changes` to columns, and `cuts` the batch where rows before and after it need other columns. A snapshot's DDL only
    tells the columns: it never changes a target. -#}
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

{#- With `ddl.truncate_table: fail` the batch is cut at its first truncate that is not known: that ends the run there, as a
    statement of another kind does. What is an event of a row otherwise may be one, by `apply_as_truncates`. -#}
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

{#- Fills of columns that are stored, with the value as SQL. -#}
{%- macro with_values(opened, plan, fills) -%}
    {%- set valued = [] -%}
    {%- for fill in fills -%}
        {%- for column in plan['columns'] if column['name'] | lower == fill['column'] | lower and not column['key'] and not column.get('stays') -%}
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
