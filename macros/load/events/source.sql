{#- What has landed since the last run, cut at the DDL events of the table, so that every row is read with the columns that
    held when it was written: {parts, landing, batch}. Or what the engine in the workers made of it: {parts, staged}. -#}
{%- macro events__source(opened, body) -%}
    {%- set cfg, run, state = opened['cfg'], opened['run'], opened['state'] -%}
    {%- set files = tidemark.files_to_read(opened, cfg['location']) if tidemark.lands_in_files(cfg) else [] -%}
    {%- set by_workers = tidemark.events_of_workers(opened, body, files) -%}
    {%- if by_workers -%}{{ return(by_workers) }}{%- endif -%}
    {%- set landing = tidemark.land_events(opened, body, files) -%}
    {%- set reorders = tidemark.reorders_ties(opened) -%}
    {%- set is_idle = landing['in_files'] and not landing['files'] and not run['empty'] -%}
    {%- if is_idle and state['first'] -%}
        {%- do tidemark.warn_of_no_file(cfg) -%}
    {%- elif is_idle and not reorders -%}
        {{ return({'parts': []}) }}
    {%- endif -%}
    {%- set batch = tidemark.look_into(opened, landing) -%}
    {%- if run['empty'] and state['first'] and not (cfg['columns'] or batch['names'] or landing['columns'] is not none) -%}
        {%- do log(cfg['entity'] ~ ': no tables are made, as neither the YAML nor an event of ' ~ (cfg['table'] or 'the table') ~ ' tells its columns yet', info=true) -%}
        {{ return({'parts': []}) }}
    {%- endif -%}
    {%- if cfg['ddl']['truncate_table'] == 'fail' and not run['empty'] and (batch['has_truncates'] or cfg['apply_as_truncates'] not in [tidemark.usual_truncates(), 'false']) -%}
        {%- do tidemark.cut_at_truncate(opened, landing, batch) -%}
    {%- endif -%}
    {%- do tidemark.forget_what_fails(opened, landing, batch) -%}
    {{ return({'parts': tidemark.stretches_of(batch), 'landing': landing, 'batch': dict(batch, reorders=reorders)}) }}
{%- endmacro -%}

{#- Where events come from: views over the landed files, a table or the model's own SELECT, read once and cached. -#}
{%- macro land_events(opened, body, files) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set arrived, extract = tidemark.run_view(cfg['target'], 'arrived'), tidemark.run_view(cfg['target'], 'extract') -%}
    {%- set location = cfg['location'] or '' -%}
    {%- set in_files = tidemark.lands_in_files(cfg) -%}
    {%- if in_files -%}
        {%- if files -%}
            {%- do run_query(tidemark.landed_lines_view_sql(extract, tidemark.make_lines_view(cfg, run, location, files), files)) -%}
        {%- else -%}
            {%- do tidemark.make_view(extract,
                "select cast(null as string) as value, cast(null as string) as _file, cast(null as bigint) as _landing_num where false") -%}
        {%- endif -%}
    {%- elif location -%}
        {%- if '.' not in location and run_query('show tables like ' ~ tidemark.string_literal(location)) | length == 0 -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': there is no folder and no table ' ~ location ~ ' (location in meta.tidemark); of a folder that is still to come, write ./' ~ location
            ) -%}
        {%- endif -%}
        {%- do tidemark.make_view(extract, 'select * from ' ~ location) -%}
    {%- endif -%}

    {%- set names = tidemark.describe_query(body) | map(attribute='name') | map('lower') | list -%}
    {%- set number = 'cast(' ~ ('_sequence_num' if '_sequence_num' in names else 'null') ~ ' as bigint) as _landing_num' -%}
    {%- set sql = 'select *' ~ ('' if '_landing_num' in names else ', ' ~ number) ~ ' from (\n' ~ body ~ '\n)' -%}
    {%- do tidemark.make_view(arrived, sql, not in_files and not run['empty']) -%}
    {%- set columns = tidemark.describe_query('select * from ' ~ arrived) -%}
    {%- set is_text = 'value' in names and (cfg['format'] == 'debezium' or ('_operation' not in names and not cfg['keys'] | map('lower') | select('in', names) | list)) -%}
    {%- if cfg['format'] == 'debezium' and not is_text -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': format: debezium needs the JSON text of the events in a column `value`, found columns: ' ~ names | join(', ')
        ) -%}
    {%- endif -%}
    {%- if not cfg['sequence_by'] and '_sequence_num' not in names and '_landing_num' not in names -%}
        {%- if not in_files -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': rows of a table have no order: the source needs `_sequence_num`, or set sequence_by to the columns that order the events of a key'
            ) -%}
        {%- elif cfg['format'] == 'debezium' or not is_text -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': the model selects neither `_landing_num`, the number of a line by its file, nor `_sequence_num`, so that nothing orders its events:'
                ~ ' add `_landing_num` to its SELECT, or set sequence_by to the columns that order the events of a key'
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {{ return({
        'files': files,
        'in_files': in_files,
        'arrived': arrived,
        'events': tidemark.run_view(cfg['target'], 'events'),
        'line_num': tidemark.line_num_expr(files) if '_landing_num' in names else '_landing_num',
        'columns': none if is_text else columns,
    }) }}
{%- endmacro -%}

{#- What the batch holds beside rows: counts, schemas, names of columns, DDL events that were not applied yet. -#}
{%- macro look_into(opened, landing) -%}
    {%- set cfg, run, state = opened['cfg'], opened['run'], opened['state'] -%}
    {%- set source = state['recorded']['source'] if state['recorded'] and not state['first'] else {} -%}
    {%- set tables = tidemark.tables_of(opened) -%}
    {%- set batch = {
        'tables': tables, 'named': source.get('named', []), 'followed': source.get('followed', []), 'ignored': 0, 'names': [],
        'schemas': {}, 'has_schemaless': false, 'first_nums': {}, 'is_empty': true, 'has_truncates': false, 'statements': [], 'source_columns': source.get('columns'), 'refused': source.get('refused', []),
        'renames': {}, 'unreadable': [],
        'by_content': source.get('by_content', state['first'] and cfg['sequence_by'] | length > 0),
        'identifying': tidemark.identifying_names(cfg, landing['columns'], none if state['first'] else state['recorded']),
        'line_num': landing['line_num'],
    } -%}
    {%- do tidemark.make_events_view(cfg, landing, batch) -%}
    {%- if run['empty'] and (cfg['columns'] or not state['first']) -%}{{ return(batch) }}{%- endif -%}
    {%- set figures = tidemark.query_rows(tidemark.event_figures_sql(landing['events'])) -%}
    {#- Of events that are not to be loaded the columns are wanted, where nothing else tells them. -#}
    {%- if run['empty'] -%}{{ return(dict(batch, is_empty=false, **tidemark.shapes_of(figures))) }}{%- endif -%}
    {%- set has_ddl = figures | selectattr('_kind', 'equalto', 'ddl') | list | length > 0 -%}
    {%- do batch.update({'named': tidemark.named_tables(batch, figures)}) -%}
    {%- if has_ddl -%}
        {%- do batch.update({'statements': tidemark.statements_of(opened, landing, batch)}) -%}
        {%- if batch['tables'] != tables -%}
            {#- A rename within the batch: rows under the new name are ours too. -#}
            {%- do tidemark.make_events_view(cfg, landing, batch) -%}
            {%- set figures = tidemark.query_rows(tidemark.event_figures_sql(landing['events'])) -%}
        {%- endif -%}
    {%- endif -%}
    {%- do tidemark.check_one_table(cfg, batch, figures, source.get('named', [])) -%}
    {%- for row in figures -%}
        {%- if row['_kind'] in ['row', 'truncate', 'unreadable'] -%}
            {%- do batch.update({'is_empty': false}) -%}
        {%- else -%}
            {%- do batch.update({'ignored': batch['ignored'] + row['_row_count'] | int}) -%}
        {%- endif -%}
        {%- if row['_kind'] == 'unreadable' -%}{%- do batch['unreadable'].append(row['_problem'] ~ ': ' ~ row['_row_count']) -%}{%- endif -%}
        {%- if row['_kind'] == 'truncate' -%}{%- do batch.update({'has_truncates': true}) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(dict(batch, **tidemark.shapes_of(figures))) }}
{%- endmacro -%}

{#- What the rows of a batch tell of columns: names in their images, inline schemas and where each comes first, in that order. -#}
{%- macro shapes_of(figures) -%}
    {%- set shapes = {'names': [], 'schemas': {}, 'first_nums': {}, 'has_schemaless': false} -%}
    {%- set rows = figures | selectattr('_kind', 'equalto', 'row') | list -%}
    {#- rows of a SELECT need not be numbered -#}
    {%- for row in rows | rejectattr('_first_num', 'none') | sort(attribute='_first_num') + rows | selectattr('_first_num', 'none') | list -%}
        {%- for shape in fromjson(row['_after_shapes'] or '[]') + fromjson(row['_before_shapes'] or '[]') -%}
            {%- for name in shape if name not in shapes['names'] -%}
                {%- do shapes['names'].append(name) -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- if row['_schema_id'] -%}
            {%- do shapes['schemas'].update({row['_schema_id']: tidemark.connect_columns(tidemark._row_fields(row['_schema_text']))}) -%}
            {%- do shapes['first_nums'].update({row['_schema_id']: row['_first_num']}) -%}
        {%- else -%}
            {%- do shapes.update({'has_schemaless': true}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(shapes) }}
{%- endmacro -%}

{#- Of a batch with a statement whose policy is `fail`, which ends the run, what comes behind that tells nothing of the rows before. Where there
    are none, tables that are to be made yet go by what follows. -#}
{%- macro forget_what_fails(opened, landing, batch) -%}
    {%- for statement in batch['statements'] if statement['landing_num'] is not none and 'fail' in statement['changes'] | map(attribute='policy') -%}
        {%- set shapes = tidemark.shapes_of(tidemark.query_rows(tidemark.event_figures_sql(landing['events'], statement['landing_num']))) -%}
        {%- if shapes['names'] or not opened['state']['first'] -%}{%- do batch.update(shapes) -%}{%- endif -%}
        {{ return(none) }}
    {%- endfor -%}
{%- endmacro -%}

{#- The names of the table whose events an entity takes. -#}
{%- macro tables_of(opened) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- set source = state['recorded']['source'] if state['recorded'] and not state['first'] else {} -%}
    {%- set taken = source.get('tables') or [] -%}
    {%- do tidemark.check_drift(cfg, tidemark.table_drift(cfg, taken), tidemark._anew_from_events()) -%}
    {{ return(source.get('followed') or taken or ([cfg['table']] if cfg['table'] else [])) }}
{%- endmacro -%}

{#- The fields of a row in an inline schema: those of the after image. -#}
{%- macro _row_fields(schema_text) -%}
    {%- for field in fromjson(schema_text)['fields'] if field['field'] == 'after' -%}
        {{ return(field['fields']) }}
    {%- endfor -%}
    {{ return([]) }}
{%- endmacro -%}

{%- macro make_events_view(cfg, landing, batch) -%}
    {%- if cfg['format'] == 'debezium' -%}
        {%- set sql = tidemark.debezium_events_sql(cfg, batch['tables'], landing['arrived'], landing['line_num']) -%}
    {%- else -%}
        {%- set sql = tidemark.canonical_events_sql(cfg, batch, landing['arrived'], landing['columns']) -%}
    {%- endif -%}
    {%- do tidemark.make_view(landing['events'], sql) -%}
{%- endmacro -%}

{#- The batch cut at its DDL events: {from, to, is_first, is_last}; the landing numbers lie between, none is open. A DDL event holds from its own number on. -#}
{%- macro stretches_of(batch) -%}
    {%- set edges = batch['statements'] | selectattr('cuts') | map(attribute='landing_num') | list -%}
    {%- set stretches = [] -%}
    {%- for edge in [none] + edges -%}
        {%- do stretches.append({'from': edge, 'to': edges[loop.index0] if not loop.last else none, 'is_first': loop.first, 'is_last': loop.last}) -%}
    {%- endfor -%}
    {{ return(stretches) }}
{%- endmacro -%}

{#- Whether the log is to be put in another order: it was made with an `on_tie` that orders otherwise, and has ties. Every log that does
    not tell was made by their content. -#}
{%- macro reorders_ties(opened) -%}
    {%- set cfg, state = opened['cfg'], opened['state'] -%}
    {%- if state['first'] or opened['run']['empty'] or not tidemark.can_tie(cfg) or (state['recorded'].get('on_tie', 'content') == 'content') == (cfg['on_tie'] == 'content') -%}
        {{ return(false) }}
    {%- endif -%}
    {{ return(run_query(tidemark.any_tie_sql(cfg, {'keyed': cfg['keys'] | length > 0}, opened['relations'])) | length > 0) }}
{%- endmacro -%}
