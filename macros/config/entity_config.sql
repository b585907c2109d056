{#- The one reader of a `materialized: cdc` model's configuration; every macro below it takes the dict this returns. It reads a node, so
    that operations can read any entity's configuration from the graph. -#}
{%- macro entity_config(node=none) -%}
    {%- if not execute -%}{{ return({}) }}{%- endif -%}
    {%- set node = node or model -%}
    {%- set config = node['config'] -%}
    {%- set wanted = tidemark._settings(config, tidemark._event_settings(), []).get('extract') -%}
    {%- if wanted and wanted not in tidemark._extracts() and tidemark._nearest(wanted, tidemark._extracts()) == 'events' or wanted == 'events' -%}
        {{ return(tidemark.event_config(node)) }}
    {%- endif -%}
    {%- set errors = [] -%}
    {%- set settings = tidemark._settings(config, tidemark._entity_settings(), errors) -%}
    {%- set cfg = tidemark._log_config(node, settings, errors) -%}
    {%- do cfg.update({
        'family': 'extract',
        'options': tidemark._spelled_options(settings.get('options', {}), settings.get('format', 'csv'), errors),
    }) -%}
    {%- do cfg.update(tidemark._read_settings(settings, {
        'format': ('any', 'csv'), 'stored_hashes': ('flag', false), 'tag_unchanged': ('flag', false), 'max_delete_fraction': ('any', 0.5),
        'compare': ('columns', true), 'effective_from': ('any', none), 'engine': ('any', none),
    }, errors)) -%}

    {%- if not cfg['keys'] and (config.get('unique_key') or settings.get('unique_key')) in [none, '', []] and config.get('unique_key') is not boolean -%}
        {%- do errors.append('unique_key is required: name the columns that identify a row') -%}
    {%- endif -%}
    {%- do tidemark._one_of('format', cfg['format'], ['csv', 'json', 'parquet'], errors) -%}
    {%- if cfg['engine'] is not none -%}{%- do tidemark._one_of('engine', cfg['engine'], tidemark._engines(), errors) -%}{%- endif -%}
    {%- do tidemark._check_entity_config(cfg, settings, errors) -%}

    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- What every entity that has a log is configured with, wherever its changes come from. -#}
{%- macro _log_config(node, settings, errors) -%}
    {%- set config = node['config'] -%}
    {%- set cfg = tidemark._place_config(node, errors) -%}
    {%- do cfg.update({
        'keys': tidemark._as_list(settings.get('unique_key') if config.get('unique_key') is none else config.get('unique_key'), 'unique_key', errors),
        'options': {},
    }) -%}
    {%- do cfg.update(tidemark._read_settings(settings, {
        'extract': ('any', none), 'location': ('any', none), 'ignore': ('names', none), 'sensitive': ('names', none), 'hash': ('any', 'md5'),
        'soft_delete': ('flag', false), 'changed_columns': ('flag', true), 'null_keys': ('any', 'reject'), 'on_reject': ('any', 'fail'), 'max_reject_fraction': ('any', 0.5),
        'feed_images': ('names', ['change', 'pre', 'post']), 'write_mode': ('any', 'copy_on_write'),
    }, errors)) -%}
    {%- do cfg.update({
        'retention': tidemark._retentions(settings, errors),
        'columns': tidemark._declared_columns(node),
        'persist_docs': config.get('persist_docs') or {},
        'description': node.get('description', ''),
    }) -%}
    {%- for name, allowed in {
        'extract': tidemark._extracts(), 'hash': ['md5', 'sha256', 'xxhash64x2'], 'null_keys': ['reject', 'allow'],
        'on_reject': ['fail', 'quarantine'], 'write_mode': ['copy_on_write', 'merge_on_read'],
    }.items() -%}
        {%- do tidemark._one_of(name, cfg[name], allowed, errors) -%}
    {%- endfor -%}
    {%- do tidemark._check_format(cfg['file_format'], errors) -%}
    {%- do tidemark._add_broken([
        (cfg['write_mode'] == 'merge_on_read' and cfg['file_format'] != 'delta',
            'write_mode: merge_on_read needs file_format: delta, found: ' ~ cfg['file_format']),
        (cfg['file_format'] == 'iceberg' and cfg['cluster_by'], 'liquid_clustered_by needs file_format: delta, found: iceberg. Use partition_by'),
    ], errors) -%}
    {%- do tidemark._check_fraction('max_reject_fraction', cfg['max_reject_fraction'], errors) -%}
    {%- do tidemark._check_retentions(cfg, cfg['retention'], errors) -%}
    {%- for image in cfg['feed_images'] -%}
        {%- do tidemark._one_of('feed_images', image, ['change', 'pre', 'post'], errors) -%}
    {%- endfor -%}
    {%- do tidemark._check_columns_config(cfg, errors) -%}
    {%- do tidemark._check_column_meta(node, 'compare_as', errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- Where a model's table is and how it is laid out, by dbt's own keys. -#}
{%- macro _place_config(node, errors) -%}
    {%- set config = node['config'] -%}
    {%- do tidemark._check_place(config, errors) -%}
    {{ return({
        'entity': node['alias'],
        'relation': node['schema'] ~ '.' ~ node['alias'],
        'target': api.Relation.create(database=node.get('database'), schema=node['schema'], identifier=node['alias'], type='table'),
        'file_format': config.get('file_format') or tidemark.lake_format(),
        'partition_by': tidemark._as_list(config.get('partition_by'), 'partition_by', errors),
        'cluster_by': tidemark._as_list(config.get('liquid_clustered_by'), 'liquid_clustered_by', errors),
        'location_root': config.get('location_root'),
        'table_properties': config.get('tblproperties') or {},
    }) }}
{%- endmacro -%}

{%- macro _extracts() -%}
    {{ return(['full', 'delta', 'events']) }}
{%- endmacro -%}

{#- Every setting that may stand under meta.tidemark of a cdc model. -#}
{%- macro _entity_settings() -%}
    {{ return([
        'extract', 'location', 'format', 'options', 'compare', 'ignore', 'sensitive', 'hash', 'stored_hashes', 'tag_unchanged',
        'effective_from', 'soft_delete', 'changed_columns', 'null_keys', 'on_reject', 'max_reject_fraction', 'max_delete_fraction', 'feed_images',
        'feed_retention', 'superseded_retention', 'history_retention', 'rejects_retention', 'write_mode', 'engine',
    ]) }}
{%- endmacro -%}

{#- The columns of the model's YAML, in its order: name, declared type (or none), not_null, description. -#}
{%- macro _declared_columns(node) -%}
    {%- set declared = [] -%}
    {%- for column in node['columns'].values() -%}
        {%- set kinds = [] -%}
        {%- for constraint in column.get('constraints', []) -%}{%- do kinds.append(constraint['type'] | string) -%}{%- endfor -%}
        {%- do declared.append({
            'name': column['name'],
            'data_type': column.get('data_type'),
            'not_null': 'not_null' in kinds,
            'description': column.get('description', ''),
            'settings': tidemark._column_settings(column),
        }) -%}
    {%- endfor -%}
    {{ return(declared) }}
{%- endmacro -%}

{#- What stands under `meta.tidemark` of a column, directly or under its `config`. -#}
{%- macro _column_settings(column) -%}
    {%- set settings = {} -%}
    {%- for meta in [column.get('meta'), (column.get('config') or {}).get('meta')] if meta is mapping and meta.get('tidemark') is mapping -%}
        {%- do settings.update(meta['tidemark']) -%}
    {%- endfor -%}
    {{ return(settings) }}
{%- endmacro -%}

{#- The one setting that a column may have, where it stands elsewhere than it is read, and what is misspelt on the way to it. -#}
{%- macro _check_column_meta(node, setting, errors) -%}
    {%- for column in node['columns'].values() -%}
        {%- set found = [] -%}
        {%- if column.get(setting) is not none -%}{%- do found.append(setting ~ ' is not read here: it stands under config.meta.tidemark of the column') -%}{%- endif -%}
        {%- for meta in [column.get('meta'), (column.get('config') or {}).get('meta')] if meta is mapping -%}
            {%- for name, value in meta.items() -%}
                {%- if name == 'tidemark' and value is not mapping -%}
                    {%- do found.append('meta.tidemark must be a mapping of settings, found: ' ~ value) -%}
                {%- elif name == setting -%}
                    {%- do found.append('meta.' ~ name ~ ' is not read here: it stands under config.meta.tidemark of the column') -%}
                {%- elif name != 'tidemark' and value is mapping and tidemark._nearest(name, ['tidemark'], 0.6) -%}
                    {%- do found.append('meta.' ~ name ~ ' is not read; did you mean `tidemark`?') -%}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
        {%- for problem in found | unique -%}{%- do errors.append('column `' ~ column['name'] ~ '`: ' ~ problem) -%}{%- endfor -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Rules about settings of single columns. -#}
{%- macro _check_column_settings(cfg, errors) -%}
    {%- for column in cfg['columns'] -%}
        {%- for name, value in column['settings'].items() -%}
            {%- set place = 'column `' ~ column['name'] ~ '`: meta.tidemark.' ~ name -%}
            {%- if name != 'compare_as' -%}
                {%- do errors.append(place ~ ' is not a setting' ~ tidemark._did_you_mean(name, ['compare_as'])) -%}
            {%- elif cfg['extract'] == 'events' -%}
                {%- do errors.append(place ~ ' is for extracts') -%}
            {%- elif value is not string or not value | trim -%}
                {%- do errors.append(place ~ ' must be an SQL expression of the column, found: ' ~ value) -%}
            {%- elif not tidemark._check_expression(place, value, errors) -%}
            {%- elif cfg['stored_hashes'] -%}
                {%- do errors.append(place ~ ' and stored_hashes conflict: the hashes come with the rows') -%}
            {%- elif not tidemark.is_compared(cfg, column['name']) -%}
                {%- do errors.append(place ~ ' has no effect: the column is not compared') -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Whether a column of an extract is compared, whether it is there or not. -#}
{%- macro is_compared(cfg, name) -%}
    {%- set others = (cfg['keys'] + cfg['ignore']) | map('lower') | list -%}
    {{ return(name | lower not in others and tidemark.is_chosen(cfg['compare'], name)) }}
{%- endmacro -%}

{#- Rules about names and types of columns, for every flow. -#}
{%- macro _check_columns_config(cfg, errors) -%}
    {%- do tidemark._check_data_types(cfg['columns'], errors) -%}
    {%- do tidemark._check_keys_are_columns(cfg, errors) -%}
    {%- set lower_keys, sensitive = cfg['keys'] | map('lower') | list, cfg['sensitive'] | map('lower') | list -%}
    {%- for name in cfg['ignore'] if name | lower in lower_keys -%}
        {%- do errors.append('ignore names `' ~ name ~ '`, which is part of unique_key: a key is never ignored') -%}
    {%- endfor -%}
    {%- for column in cfg['columns'] -%}
        {%- set refused = tidemark.refused_name(column['name'], tidemark.reserved_columns()) -%}
        {%- if refused -%}{%- do errors.append(refused ~ ': rename it in the model') -%}{%- endif -%}
        {%- if cfg['columns'][:loop.index0] | map(attribute='name') | map('lower') | select('equalto', column['name'] | lower) | list -%}
            {%- do errors.append('column `' ~ column['name'] ~ '` is declared twice (names differ at most in case)') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in cfg['partition_by'] + cfg['cluster_by'] if name | lower in sensitive -%}
        {%- do errors.append('`' ~ name ~ '` is sensitive and cannot lay out the current table') -%}
    {%- endfor -%}
    {%- do tidemark._add_broken([
        (lower_keys | unique | list | length != lower_keys | length, 'unique_key names a column twice: ' ~ cfg['keys'] | join(', ')),
        (cfg['partition_by'] and cfg['cluster_by'], 'partition_by and liquid_clustered_by conflict: choose one'),
    ], errors) -%}
{%- endmacro -%}

{#- A key is the name of a column; where it is an expression, say where that belongs. A declared column may have any name. -#}
{%- macro _check_keys_are_columns(cfg, errors) -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- for key in cfg['keys'] if key | lower not in declared -%}
        {%- set parts = key.split(',') | map('trim') | list -%}
        {%- if parts | length > 1 and '(' not in key -%}
            {%- do errors.append('unique_key `' ~ key ~ '` is no column: write several as a list, unique_key: [' ~ parts | join(', ') ~ ']') -%}
        {%- elif '||' in key or '::' in key or modules.re.fullmatch('\\w+[(].*[)]', key) -%}
            {%- do errors.append(
                'unique_key `' ~ key ~ '` is an expression, and a key is a column: add one in the SELECT of the model, such as `select *, '
                ~ key ~ ' as ' ~ cfg['entity'] ~ '_key from (…)`, and name it as unique_key; or list the columns that make up the key'
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The reader options of Spark for files of a format, as it spells them. -#}
{%- macro _reader_options(format) -%}
    {%- set of_files = ['compression', 'pathGlobFilter', 'recursiveFileLookup', 'modifiedBefore', 'modifiedAfter', 'ignoreCorruptFiles', 'ignoreMissingFiles'] -%}
    {%- set of_texts = ['encoding', 'charset', 'dateFormat', 'timestampFormat', 'lineSep', 'multiLine', 'locale', 'timeZone', 'mode', 'timestampNTZFormat',
        'enableDateTimeParsingFallback', 'columnNameOfCorruptRecord'] -%}
    {{ return(of_files + {
        'csv': of_texts + [
            'sep', 'delimiter', 'quote', 'escape', 'escapeQuotes', 'comment', 'header', 'nullValue', 'emptyValue', 'nanValue', 'positiveInf',
            'negativeInf', 'ignoreLeadingWhiteSpace', 'ignoreTrailingWhiteSpace', 'maxColumns', 'maxCharsPerColumn',
            'charToEscapeQuoteEscaping', 'unescapedQuoteHandling', 'inferSchema', 'enforceSchema',
        ],
        'json': of_texts + [
            'primitivesAsString', 'prefersDecimal', 'allowComments', 'allowUnquotedFieldNames', 'allowSingleQuotes', 'allowNumericLeadingZeros',
            'allowBackslashEscapingAnyCharacter', 'allowUnquotedControlChars', 'allowNonNumericNumbers', 'dropFieldIfAllNull', 'samplingRatio',
        ],
        'parquet': ['mergeSchema', 'datetimeRebaseMode', 'int96RebaseMode'],
    }.get(format | string, [])) }}
{%- endmacro -%}

{#- Options as Spark spells them: to it their case is one, to what reads them here it is not. -#}
{%- macro _spelled_options(given, format, errors) -%}
    {%- if given is not mapping -%}{{ return(given) }}{%- endif -%}
    {%- set spelled, options, taken = {}, {}, {} -%}
    {%- for name in tidemark._reader_options(format) -%}{%- do spelled.update({name | lower: name}) -%}{%- endfor -%}
    {%- for name, value in given.items() -%}
        {%- set lower = name | string | lower -%}
        {%- set meant = {'delimiter': 'sep', 'charset': 'encoding'}.get(lower, lower) -%}
        {%- if meant in taken -%}{%- do errors.append('options.' ~ name ~ ' and options.' ~ taken[meant] ~ ' are one option: take one out') -%}{%- endif -%}
        {%- do taken.update({meant: name}) -%}
        {%- do options.update({spelled.get(lower, name): value}) -%}
    {%- endfor -%}
    {{ return(options) }}
{%- endmacro -%}

{#- Reader options that would change nothing, as Tidemark reads values as texts and casts them itself, each with what to write instead.
    What from_json() makes of a nested column of JSON it makes by these. -#}
{%- macro _options_without_effect(format, columns) -%}
    {%- set of_files = {'compression': "a file's compression is told by its name, such as .gz: take it out"} -%}
    {%- if format == 'parquet' -%}{{ return(of_files) }}{%- endif -%}
    {%- set turned = "a value is cast to the data_type of its column as Spark SQL casts a text. Turn others round in the model's SELECT, such as "
        ~ "replace(replace(amount, '.', ''), ',', '.')" -%}
    {%- set reject = 'a line that cannot be read is a reject, and on_reject says what becomes of it: take it out' -%}
    {%- set of_texts = dict(of_files, mode=reject, columnNameOfCorruptRecord=reject) -%}
    {%- if format == 'csv' or '<' not in columns | map(attribute='data_type') | select('string') | join -%}
        {%- do of_texts.update({
            'locale': turned,
            'timeZone': "a time without a zone is one of the session's: set spark.sql.session.timeZone in the profile",
            'timestampNTZFormat': 'write timestampFormat, which is that of timestamp_ntz too',
            'enableDateTimeParsingFallback': 'a date that its format does not read is a reject: take it out',
        }) -%}
    {%- endif -%}
    {%- set declared = 'a column has the data_type that the YAML declares: take it out' -%}
    {%- if format == 'json' -%}
        {%- set lines = 'JSON is read as lines, an object on each: have the files written so, and take it out' -%}
        {{ return(dict(of_texts, multiLine=lines, lineSep=lines, primitivesAsString=declared, prefersDecimal=declared, dropFieldIfAllNull=declared)) }}
    {%- endif -%}
    {{ return(dict(
        of_texts, inferSchema=declared, enforceSchema='the header of each file is compared with the first: take it out',
        escapeQuotes='it is for writing: take it out', nanValue=turned, positiveInf=turned, negativeInf=turned
    )) }}
{%- endmacro -%}

{#- Spark passes over an option that it does not have, so one that is nearly the name of another is refused here. -#}
{%- macro _check_options(options, format, columns, errors) -%}
    {%- set vain = tidemark._options_without_effect(format, columns) -%}
    {%- for name in options if name in vain -%}
        {%- do errors.append('options.' ~ name ~ ' has no effect: ' ~ vain[name]) -%}
    {%- endfor -%}
    {%- set known = tidemark._reader_options(format) -%}
    {%- set others = ['separator'] if format == 'csv' else [] -%}
    {%- for name in options if name not in known -%}
        {%- set meant = tidemark._nearest(name, known + others, 0.6) -%}
        {%- if meant -%}
            {%- do errors.append('options.' ~ name ~ ' is no option of Spark for ' ~ format ~ '; did you mean `' ~ ('sep' if meant == 'separator' else meant) ~ '`?') -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Rules that look at more than one setting. -#}
{%- macro _check_entity_config(cfg, settings, errors) -%}
    {%- set starts, options = cfg['effective_from'], cfg['options'] -%}
    {%- do tidemark._check_column_settings(cfg, errors) -%}
    {%- do tidemark._check_location(cfg['location'], errors) -%}
    {%- do tidemark._check_fraction('max_delete_fraction', cfg['max_delete_fraction'], errors) -%}
    {%- do tidemark._add_broken([
        ('effective_from' in settings and (starts is not string or not starts | trim),
            'effective_from must be the name of a column of dates or timestamps, found: ' ~ starts),
        (starts is string and starts | lower in cfg['sensitive'] | map('lower') | list,
            'effective_from names `' ~ starts ~ '`, which is sensitive: intervals would show it'),
        ('compare' in settings and settings.get('ignore'), 'compare and ignore conflict: ignore is the short form of compare: {exclude: […]}'),
        (options is not mapping, 'options must be a mapping of Spark reader options, found: ' ~ options),
        (options is mapping and options.values() | reject('string') | reject('number') | list,
            'options takes texts, numbers, true and false, found: ' ~ options),
        (cfg['stored_hashes'] and cfg['sensitive'], 'stored_hashes and sensitive conflict: hashes that come with the rows cannot be peppered'),
        (cfg['file_format'] == 'parquet' and (cfg['partition_by'] or cfg['cluster_by']),
            'partition_by and liquid_clustered_by need file_format: delta. A Parquet table is swapped as a whole, '
            ~ 'which the metastore cannot do atomically for a table with partitions'),
    ], errors) -%}
    {%- for name in cfg['compare']['exclude'] if name in cfg['keys'] | map('lower') | list -%}
        {%- do errors.append('compare.exclude names `' ~ name ~ '`, which is part of unique_key: a key is always compared') -%}
    {%- endfor -%}
    {%- if options is mapping -%}{%- do tidemark._check_options(options, cfg['format'], cfg['columns'], errors) -%}{%- endif -%}
    {%- for name, value in (options.items() if options is mapping and cfg['format'] == 'json' else [])
        if name | lower in ['encoding', 'charset'] and not tidemark.is_utf8(value) -%}
        {%- do errors.append('options.' ~ name ~ ': JSON lines are UTF-8, found: ' ~ value ~ '. Have the files written so') -%}
    {%- endfor -%}
    {%- for name in ['format', 'options'] if cfg['location'] is none and name in settings -%}
        {%- do errors.append(name ~ ' says how location is read, but there is no location') -%}
    {%- endfor -%}
{%- endmacro -%}
