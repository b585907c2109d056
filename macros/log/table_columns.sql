{#- Columns of the log: the stored business columns and what Tidemark knows of the change. -#}
{%- macro log_columns(roles) -%}
    {{ return(tidemark._nullable(roles['stored'] + roles.get('gone', [])) + [
        {'name': '_key_hash', 'type': 'string', 'description': 'Hash of the key columns'},
        {'name': '_row_hash', 'type': 'string', 'description': 'Hash of the compared columns'},
        {'name': '_operation', 'type': 'string',
            'description': 'I, U or D; for events also N (changed nothing) and T (concerns the whole table)'},
        {'name': '_business_date', 'type': 'date',
            'description': 'Business date of the extract, or of the arrival of the event'},
        {'name': '_eff_start_date', 'type': 'date', 'description': 'Date from which this state holds'},
        {'name': '_changed_columns', 'type': 'array<string>',
            'description': 'Names of the columns that a U changed'},
    ] + tidemark.event_log_columns(roles) + [
        {'name': '_commit_id', 'type': 'bigint', 'description': 'Commit that wrote the row'},
        {'name': '_superseded_by', 'type': 'bigint',
            'description': 'Commit that replaced the row; NULL while it is in force'},
    ]) }}
{%- endmacro -%}

{#- What the log keeps of a change event; nothing for extracts. -#}
{%- macro event_log_columns(roles) -%}
    {%- if roles.get('flow') != 'events' -%}{{ return([]) }}{%- endif -%}
    {%- set sequence = [{'name': '_sequence_by', 'type': roles['sequence_type'],
        'description': 'What sequence_by orders by, and what breaks ties'}] -%}
    {{ return([
        {'name': '_sequence_num', 'type': 'bigint',
            'description': 'Landing order, or the sequence number that the source supplied'},
    ] + (sequence if roles['sequence_by'] else []) + [
        {'name': '_event_time', 'type': 'timestamp', 'description': 'Commit time of the source'},
        {'name': '_batch_id', 'type': 'bigint',
            'description': 'Batch that the event landed in: the commit that took it'},
        {'name': '_source_operation', 'type': 'string',
            'description': 'INSERT, READ (of a snapshot), UPDATE, DELETE, MOVE_OUT and MOVE_IN (halves of a '
                ~ 'change of the key), TRUNCATE, SNAPSHOT (end of one), ADD_COLUMN or another DDL'},
        {'name': '_event_id', 'type': 'string',
            'description': 'Identity of the event, the same when it is delivered again'},
        {'name': '_transaction_id', 'type': 'string', 'description': 'Transaction of the source'},
        {'name': '_offset', 'type': 'string', 'description': 'Position in the source'},
        {'name': '_unsupplied', 'type': 'array<string>',
            'description': 'Columns that the event did not bring: they have the value from before'},
        {'name': '_moved_from', 'type': 'string',
            'description': 'Of a MOVE_IN: hash of the key that the row had before'},
    ]) }}
{%- endmacro -%}

{#- Names of the log's columns that a slice of it brings; the commit's columns are put to it when it is
    written. `kept_gone`: rows that are derived anew keep what they had in columns that the source has dropped
    since. -#}
{%- macro slice_columns(roles) -%}
    {{ return(
        (roles['stored'] + roles.get('kept_gone', [])) | map(attribute='name') | list
        + ['_key_hash', '_row_hash', '_operation', '_business_date', '_eff_start_date', '_changed_columns']
        + tidemark.event_log_columns(roles) | map(attribute='name') | list
    ) }}
{%- endmacro -%}

{#- Columns of current. Its constraints are set when it is made, as open-source Delta cannot add them later.
    -#}
{%- macro current_columns(cfg, roles) -%}
    {%- set columns = [] -%}
    {%- for column in roles['stored'] -%}
        {%- do columns.append({
            'name': column['name'],
            'type': column['type'],
            'not_null': column['not_null'] and column.get('held', true),
            'description': column['description'] if cfg['persist_docs'].get('columns') else '',
        }) -%}
    {%- endfor -%}
    {{ return(columns
        + tidemark.columns_of('_key_hash string, _row_hash string, _operation string, _eff_start_date date')
        + (tidemark.event_log_columns(roles) | selectattr('name', 'in',
            ['_sequence_num', '_sequence_by']) | list)) }}
{%- endmacro -%}

{#- Names of the columns of current, in its order. -#}
{%- macro current_names(roles) -%}
    {{ return(
        roles['stored'] | map(attribute='name') | list
            + ['_key_hash', '_row_hash', '_operation', '_eff_start_date']
        + tidemark.event_log_columns(roles) | map(attribute='name') | select('in',
            ['_sequence_num', '_sequence_by']) | list
    ) }}
{%- endmacro -%}

{#- Columns of the sensitive values: one row per log row that has them. -#}
{%- macro sensitive_columns(roles) -%}
    {{ return(tidemark._nullable(roles['sensitive'])
        + tidemark.columns_of('_key_hash string, _row_hash string, _business_date date, _commit_id bigint')
        + (tidemark.columns_of('_event_id string') if roles.get('flow') == 'events' else [])) }}
{%- endmacro -%}

{#- Columns of what each load of a delta or of a scoped extract supplied: keys only, changed or not. -#}
{%- macro supplied_columns() -%}
    {{ return(tidemark.columns_of('_key_hash string, _business_date date, _commit_id bigint')) }}
{%- endmacro -%}

{%- macro rejects_columns() -%}
    {{ return([
        {'name': '_reject_reason', 'type': 'string',
            'description': 'Why the row cannot be used, and the column'},
        {'name': '_key_hash', 'type': 'string', 'description': 'Hash of the key, where it could be read'},
        {'name': '_raw_payload', 'type': 'string',
            'description': 'The row as it arrived, sensitive values masked'},
        {'name': '_business_date', 'type': 'date'},
        {'name': '_commit_id', 'type': 'bigint'},
        {'name': '_resolved_by', 'type': 'bigint',
            'description': 'Commit of the later load of the date that mended it; NULL while it is open'},
    ]) }}
{%- endmacro -%}

{#- Columns of staging: every event of the batches taken, typed, with the before image of the key (of all
    columns without key). Sensitive values are withheld. -#}
{%- macro staging_columns(cfg, roles) -%}
    {%- set columns = tidemark._nullable(roles['stored']) -%}
    {%- for column in (roles['keys'] if roles['keyed'] else roles['columns']) if not column['sensitive'] -%}
        {%- do columns.append({'name': '_before_' ~ column['name'], 'type': column['type']}) -%}
    {%- endfor -%}
    {%- for name in (['_key_hash', '_before_key_hash'] if roles['keyed']
        else ['_row_hash', '_before_row_hash']) -%}
        {%- do columns.append({'name': name, 'type': 'string'}) -%}
    {%- endfor -%}
    {%- for name in tidemark.counting_columns(cfg) -%}
        {%- do columns.append({'name': name, 'type': 'bigint' if name in ['_total_order', '_ordinal']
            else 'string'}) -%}
    {%- endfor -%}
    {{ return(columns + [
        {'name': '_batch_id', 'type': 'bigint', 'description': 'The commit that took the event'},
        {'name': '_landing_num', 'type': 'bigint',
            'description': 'Number of the file and of the line in it (32 bits each)'},
        {'name': '_sequence_num', 'type': 'bigint'},
        {'name': '_event_id', 'type': 'string'},
        {'name': '_operation', 'type': 'string',
            'description': 'INSERT, READ, UPDATE, UPSERT, DELETE or TRUNCATE'},
        {'name': '_unsupplied', 'type': 'array<string>'},
        {'name': '_event_time', 'type': 'timestamp'},
        {'name': '_transaction_id', 'type': 'string'},
        {'name': '_is_snapshot', 'type': 'boolean'},
        {'name': '_database', 'type': 'string'},
        {'name': '_table', 'type': 'string'},
        {'name': '_offset', 'type': 'string'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}

{#- The column of the register that names a file: Iceberg has a `_file` of its own, which is hidden. -#}
{%- macro landed_file() -%}
    {{ return('_path' if tidemark.lake_format() == 'iceberg' else '_file') }}
{%- endmacro -%}

{#- Columns of the register of files that were read. -#}
{%- macro landed_columns() -%}
    {{ return([
        {'name': tidemark.landed_file(), 'type': 'string'},
        {'name': '_file_number', 'type': 'bigint',
            'description': 'Upper half of the sequence numbers of its lines'},
        {'name': '_file_size', 'type': 'bigint', 'description': 'Bytes when it was read'},
        {'name': '_file_time', 'type': 'timestamp', 'description': 'When it had been written'},
        {'name': '_is_whole', 'type': 'boolean',
            'description': 'false: a commit took a part of it, up to a DDL event'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}

{%- macro _nullable(columns) -%}
    {%- set nullable = [] -%}
    {%- for column in columns -%}
        {%- do nullable.append({'name': column['name'], 'type': column['type']}) -%}
    {%- endfor -%}
    {{ return(nullable) }}
{%- endmacro -%}

{#- What tells equal rows of a table without key apart, kept in staging. -#}
{%- macro counting_columns(cfg) -%}
    {{ return(['_identity', '_content', '_delivery_hash', '_total_order', '_ordinal']
        if not cfg['keys'] and cfg['format'] == 'debezium' else []) }}
{%- endmacro -%}

{#- Columns of a text such as `_key_hash string, _commit_id bigint`. -#}
{%- macro columns_of(text) -%}
    {%- set columns = [] -%}
    {%- for pair in text.split(', ') -%}
        {%- set name, type = pair.split(' ') -%}
        {%- do columns.append({'name': name, 'type': type}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- The same of a text with a column a line: name, type, and what it means. -#}
{%- macro described_columns(text) -%}
    {%- set columns = [] -%}
    {%- for line in text.splitlines() -%}
        {%- set name, type, description = line.split(' ', 2) -%}
        {%- do columns.append({'name': name, 'type': type, 'description': description}) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}
