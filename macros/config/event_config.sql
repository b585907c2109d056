{#- The reader of a `materialized: cdc` model with `extract: events`: what entity_config() returns for it. The dict has
    all that the extract flow's has, so that what comes after the log (current, history, intervals) is shared. -#}
{%- macro event_config(node) -%}
    {%- set config = node['config'] -%}
    {%- set errors = [] -%}
    {%- set settings = tidemark._settings(config, tidemark._event_settings(), errors) -%}
    {%- set cfg = tidemark._log_config(node, settings, errors) -%}
    {%- do cfg.update(tidemark._read_settings(settings, {
        'format': ('any', 'debezium'), 'table': ('any', none), 'sequence_by': ('names', none), 'on_tie': ('any', 'later'),
        'apply_as_deletes': ('any', "_operation = 'DELETE'"), 'apply_as_truncates': ('any', tidemark.usual_truncates()),
        'ignore_null_updates': ('columns', false), 'encodings': ('any', {}), 'previous_names': ('any', {}),
        'unavailable_value': ('any', '__debezium_unavailable_value'), 'engine': ('any', none),
    }, errors)) -%}
    {%- do cfg.update({
        'chosen': tidemark._chosen(settings.get('columns', true), 'columns', errors),
        'tracked': tidemark._chosen(settings.get('track_history', true), 'track_history', errors),
        'ddl': tidemark._ddl_policies(settings.get('ddl', {}), errors),
        'tag_unchanged': false,
        'stored_hashes': false,
        'family': 'events',
        'max_delete_fraction': 1,
    }) -%}
    {%- if cfg['engine'] is not none -%}{%- do tidemark._one_of('engine', cfg['engine'], tidemark._engines(), errors) -%}{%- endif -%}
    {#- `_sequence_num` alone is what the order is without this setting. -#}
    {%- if cfg['sequence_by'] == ['_sequence_num'] and cfg['format'] != 'rows' -%}
        {%- do cfg.update({'sequence_by': []}) -%}
    {%- endif -%}
    {%- do tidemark._check_event_config(cfg, settings, errors) -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- What is a truncate unless a setting says otherwise. -#}
{%- macro usual_truncates() -%}
    {{ return("_operation in ('TRUNCATE', 'TRUNCATE_TABLE')") }}
{%- endmacro -%}

{#- The condition for events that delete all rows: what is a truncate by itself, and what a setting says beside it. Rows that are no events
    have only the latter. -#}
{%- macro truncates_expr(cfg) -%}
    {%- set given = cfg['apply_as_truncates'] -%}
    {{ return(given if cfg['format'] == 'rows' or given == tidemark.usual_truncates()
        else tidemark.usual_truncates() ~ ' or coalesce((' ~ given ~ '), false)') }}
{%- endmacro -%}

{#- Every setting that may stand under meta.tidemark of an events model. -#}
{%- macro _event_settings() -%}
    {{ return([
        'extract', 'location', 'format', 'table', 'sequence_by', 'on_tie', 'apply_as_deletes',
        'apply_as_truncates', 'ignore_null_updates', 'columns', 'track_history', 'ddl', 'encodings', 'previous_names', 'unavailable_value',
        'ignore', 'sensitive', 'hash', 'soft_delete', 'changed_columns', 'null_keys', 'on_reject', 'max_reject_fraction', 'feed_images',
        'feed_retention', 'superseded_retention', 'history_retention', 'staging_retention', 'rejects_retention', 'write_mode', 'engine',
    ]) }}
{%- endmacro -%}

{#- What a DDL event does to the target, by kind: `apply`, `ignore` or `fail`. What would take rows or values away is off by default. -#}
{%- macro _ddl_policies(given, errors) -%}
    {%- set policies = {
        'add_column': 'apply', 'drop_column': 'ignore', 'rename_column': 'apply', 'widen_column': 'apply', 'change_type': 'fail',
        'rename_table': 'apply', 'create_table': 'apply', 'drop_table': 'ignore', 'truncate_table': 'apply',
        'create_database': 'ignore', 'drop_database': 'ignore',
    } -%}
    {%- if given is not mapping -%}
        {%- do errors.append('ddl must be a mapping such as {drop_column: apply}, found: ' ~ given) -%}
        {{ return(policies) }}
    {%- endif -%}
    {%- for kind, policy in given.items() -%}
        {%- if kind not in policies -%}
            {%- do errors.append('ddl.' ~ kind ~ ' is no kind of DDL event' ~ tidemark._did_you_mean(kind, policies.keys() | list)) -%}
        {%- else -%}
            {%- do tidemark._one_of('ddl.' ~ kind, policy, ['apply', 'ignore', 'fail'], errors) -%}
            {%- do policies.update({kind: policy}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(policies) }}
{%- endmacro -%}

{#- A choice of columns: true (all), false (none), a list (those), {include: […]} or {exclude: […]}; as {all, include, exclude}. -#}
{%- macro _chosen(value, name, errors) -%}
    {%- if value is boolean or value | string | lower in ['true', 'false'] -%}
        {{ return({'all': value | string | lower == 'true', 'include': [], 'exclude': []}) }}
    {%- elif value is mapping -%}
        {%- for key in value if key not in ['include', 'exclude'] -%}
            {%- do errors.append(name ~ ' takes include or exclude, found: ' ~ key) -%}
        {%- endfor -%}
        {%- if value | length != 1 -%}
            {%- do errors.append(name ~ ' takes either include or exclude') -%}
        {%- endif -%}
        {%- for key, names in value.items() if key in ['include', 'exclude'] and not names -%}
            {%- do errors.append(name ~ '.' ~ key ~ ' names no column: for all of them say ' ~ name ~ ': true, for none false') -%}
        {%- endfor -%}
        {%- set excluded = tidemark._as_list(value.get('exclude'), name ~ '.exclude', errors) -%}
        {{ return({
            'all': 'exclude' in value,
            'include': tidemark._as_list(value.get('include'), name ~ '.include', errors) | map('lower') | list,
            'exclude': excluded | map('lower') | list,
        }) }}
    {%- endif -%}
    {%- set known = errors | length -%}
    {%- set included = tidemark._as_list(value, name, errors) -%}
    {%- if errors | length > known -%}{{ return({'all': true, 'include': [], 'exclude': []}) }}{%- endif -%}
    {%- if not value -%}{%- do errors.append(name ~ ' names no column: say true for all, false for none, or leave it out') -%}{%- endif -%}
    {{ return({'all': false, 'include': included | map('lower') | list, 'exclude': []}) }}
{%- endmacro -%}

{%- macro is_chosen(chosen, name) -%}
    {{ return(name | lower in chosen['include'] or (chosen['all'] and name | lower not in chosen['exclude'])) }}
{%- endmacro -%}

{#- Rules that look at more than one setting. -#}
{%- macro _check_event_config(cfg, settings, errors) -%}
    {%- do tidemark._one_of('format', cfg['format'], ['debezium', 'canonical', 'rows'], errors) -%}
    {%- do tidemark._one_of('on_tie', cfg['on_tie'], ['later', 'reject', 'content'], errors) -%}
    {%- do tidemark._check_location(cfg['location'], errors, dated=false) -%}
    {%- do tidemark._check_column_settings(cfg, errors) -%}
    {%- for name in ['table', 'unavailable_value'] if name in settings and cfg[name] is not string -%}
        {%- do errors.append(name ~ ' must be a text, found: ' ~ cfg[name]) -%}
    {%- endfor -%}
    {%- do tidemark._add_broken([
        (cfg['file_format'] == 'parquet', 'extract: events needs file_format: delta or iceberg, found: parquet'),
        (cfg['format'] == 'rows' and not cfg['sequence_by'], 'format: rows needs sequence_by: the columns or expressions that order the rows of a key'),
        (cfg['format'] == 'rows' and not cfg['keys'], 'format: rows needs unique_key: an upsert has nothing else to find its row by'),
        (not cfg['keys'] and cfg['sequence_by'], 'sequence_by needs unique_key: copies of a row cannot be told apart by another order'),
        (not cfg['keys'] and cfg['on_tie'] == 'reject', 'on_tie: reject needs unique_key: without one every row counts'),
    ], errors) -%}
    {%- for name in ['apply_as_deletes', 'apply_as_truncates'] if cfg['format'] == 'rows' and name not in settings -%}
        {%- do cfg.update({name: 'false'}) -%}
    {%- endfor -%}
    {%- for key in cfg['keys'] if not tidemark.is_chosen(cfg['chosen'], key) -%}
        {%- do errors.append('columns leaves out `' ~ key ~ '`, which is part of unique_key') -%}
    {%- endfor -%}
    {%- for name in cfg['tracked']['include'] if name in cfg['ignore'] | map('lower') | list -%}
        {%- do errors.append('track_history names `' ~ name ~ '`, which ignore says is not compared: remove it from one of them') -%}
    {%- endfor -%}
    {%- for name in cfg['tracked']['include'] if not tidemark.is_chosen(cfg['chosen'], name) -%}
        {%- do errors.append('track_history names `' ~ name ~ '`, which columns leaves out: remove it from one of them') -%}
    {%- endfor -%}
    {%- for name in ['encodings', 'previous_names'] if cfg[name] is not mapping -%}
        {%- do errors.append(name ~ ' must be a mapping of column names, found: ' ~ cfg[name]) -%}
        {%- do cfg.update({name: {}}) -%}
    {%- endfor -%}
    {%- for name, encoding in cfg['encodings'].items() -%}
        {%- if encoding is not string or encoding.split(':')[0] not in tidemark.encodings() -%}
            {%- do errors.append('encodings.' ~ name ~ ' is no encoding' ~ tidemark._did_you_mean(encoding, tidemark.encodings())) -%}
        {%- elif encoding == 'decimal_bytes' -%}
            {%- do errors.append('encodings.' ~ name ~ ': decimal_bytes needs the scale, as in decimal_bytes:2') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for expression in cfg['sequence_by'] -%}{%- do tidemark._check_expression('sequence_by', expression, errors) -%}{%- endfor -%}
    {%- for name in ['apply_as_deletes', 'apply_as_truncates'] -%}{%- do tidemark._check_expression(name, cfg[name], errors) -%}{%- endfor -%}
    {%- for kind in ['drop_table', 'drop_database'] if cfg['sequence_by'] and cfg['ddl'][kind] == 'apply' -%}
        {%- do errors.append('ddl.' ~ kind ~ ': apply needs the order of arrival, and there is a sequence_by') -%}
    {%- endfor -%}
{%- endmacro -%}
