{#- The files of a business date, or what the model's own SELECT yields: {parts, body, columns, file_names, origin}. -#}
{%- macro extract__source(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if run['business_date'] is none and not run['empty'] -%}{%- do tidemark.raise_no_date(cfg) -%}{%- endif -%}
    {{ return(tidemark.source_of_workers(opened, body) or tidemark.source_of_spark(opened, body)) }}
{%- endmacro -%}

{%- macro source_of_spark(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set file_names = tidemark.make_extract_view(cfg, run, opened['state']['recorded']) if cfg['location'] else [] -%}
    {{ return({
        'parts': ['all'],
        'body': body,
        'columns': tidemark.describe_query(body),
        'file_names': file_names,
        'origin': tidemark.origin_of_extract(cfg, run),
    }) }}
{%- endmacro -%}

{#- How messages call an extract. -#}
{%- macro origin_of_extract(cfg, run) -%}
    {{ return(' of business date ' ~ run['business_date']
        ~ (' (' ~ tidemark.extract_path(cfg['location'], run['business_date']) ~ ')' if cfg['location'] else '')) }}
{%- endmacro -%}

{#- The view behind extract(), over the files of the run's business date. Returns the names of the columns that the files have. `recorded`
    tells those of the last load. -#}
{%- macro make_extract_view(cfg, run, recorded) -%}
    {%- set path = tidemark.extract_path(cfg['location'], run['business_date']) -%}
    {%- set names = cfg['columns'] | map(attribute='name') | list -%}
    {%- if cfg['format'] == 'json' and not names -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': format json needs the columns in the YAML, by the names they have in the file'
        ) -%}
    {%- endif -%}
    {%- set files = tidemark.files_at(path) -%}
    {%- if not files and run['empty'] -%}
        {%- do tidemark.make_empty_extract_view(cfg, recorded) -%}
        {{ return([]) }}
    {%- elif not files -%}
        {%- do tidemark.raise_error('data',
            cfg['entity'] ~ ': no extract for business date ' ~ run['business_date'] ~ ': there is nothing at '
            ~ path ~ ' (location in meta.tidemark). Put the file there, or give another business_date'
        ) -%}
    {%- endif -%}
    {%- do tidemark.check_folders(cfg, files) -%}
    {%- do tidemark.check_lines(cfg, files) -%}
    {%- set mark = '' -%}
    {%- if cfg['format'] == 'csv' -%}
        {%- set options = tidemark.csv_options(cfg['options']) -%}
        {%- set has_header = options['header'] | default('true') | string | lower == 'true' -%}
        {%- set found = tidemark.describe_query(tidemark.csv_header_sql(cfg, path)) | map(attribute='name') | list if has_header else [] -%}
        {%- set mark = tidemark.utf8_mark(cfg, path, found) -%}
        {%- if mark and not tidemark.query_rows(tidemark.lines_told_sql(cfg, path))[0]['malformed'] -%}
            {{ return(tidemark.make_extract_view(dict(cfg, options=dict(options, encoding='UTF-8')), run, recorded)) }}
        {%- endif -%}
        {%- if has_header -%}
            {%- set found = tidemark.names_without_mark(found, mark) -%}
            {%- do tidemark.check_separator(cfg, options, found, path) -%}
            {%- do tidemark.check_header(cfg, found, path) -%}
            {%- set names = found or names -%}
        {%- elif not names -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': a file without header needs the columns in the YAML, in the order of the file'
            ) -%}
        {%- endif -%}
    {%- endif -%}
    {%- set view = tidemark.run_view(cfg['target'], 'extract') -%}
    {%- set lines = tidemark.look_at_lines(cfg, path) -%}
    {%- set told = ['_malformed'] if lines['malformed'] else [] -%}
    {%- if cfg['format'] == 'csv' and told -%}
        {%- do tidemark.make_readable_csv_view(cfg, view, path, names, dict(lines, mark=mark)) -%}
    {%- elif told -%}
        {%- do run_query(tidemark.readable_json_sql(cfg, view, path)) -%}
    {%- elif cfg['format'] == 'csv' and tidemark.is_read_by_line(cfg, path, files) -%}
        {#- a row on one line: see row_over_lines_sql() -#}
        {%- do run_query(tidemark.extract_view_sql(cfg, view, path, names, {'multiLine': 'false'})) -%}
    {%- elif cfg['format'] == 'csv' -%}
        {%- do tidemark.make_csv_view(cfg, view, path, names, lines) -%}
    {%- elif cfg['format'] == 'parquet' -%}
        {%- do tidemark.make_parquet_view(cfg, view, path, files) -%}
    {%- else -%}
        {%- do run_query(tidemark.extract_view_sql(cfg, view, path, names)) -%}
    {%- endif -%}
    {%- if cfg['format'] == 'csv' -%}
        {%- if lines['odd'] -%}{%- do tidemark.check_quotes(cfg, view, path, names) -%}{%- endif -%}
        {{ return(names + told) }}
    {%- endif -%}
    {{ return(told + (
        (tidemark.query_rows(tidemark.json_names_sql(cfg, path)) if cfg['format'] == 'json' else tidemark.describe_query('select * from ' ~ view))
        | map(attribute='name') | list
    )) }}
{%- endmacro -%}

{#- The byte order mark of UTF-8 as a file that begins with it is read by the declared encoding, such as ï»¿; none where the encoding is
    UTF-8, whose mark Spark's reader takes off. A file that has it and is UTF-8 throughout is read so, any other without the mark. -#}
{%- macro utf8_mark(cfg, path, names) -%}
    {%- set encoding = tidemark.csv_options(cfg['options'])['encoding'] -%}
    {%- if tidemark.is_utf8(encoding) or not tidemark.can('list_files') -%}{{ return('') }}{%- endif -%}
    {%- set first = names -%}
    {%- if not first -%}
        {%- set rows = tidemark.query_rows(tidemark.csv_header_sql(cfg, path, {'header': 'false'}) ~ ' limit 1') -%}
        {%- set first = rows[0].values() | list if rows else [] -%}
    {%- endif -%}
    {{ return(adapter.call_function('tidemark.engine.header.utf8_mark', (first[0] or '') if first else '', encoding)) }}
{%- endmacro -%}

{#- The names of a header, the first without the mark before it, which keeps quotes around it from being any. -#}
{%- macro names_without_mark(names, mark) -%}
    {%- if not mark or not names -%}{{ return(names) }}{%- endif -%}
    {{ return([names[0][mark | length:].strip('"')] + names[1:]) }}
{%- endmacro -%}

{#- Stop at files in folders of the folder, which Spark passes over: a full extract would take their keys for deleted ones. -#}
{%- macro check_folders(cfg, files) -%}
    {%- set options = {} -%}
    {%- for name, value in cfg['options'].items() -%}{%- do options.update({name | lower: value | string | lower}) -%}{%- endfor -%}
    {%- if options.get('recursivefilelookup') == 'true' or not tidemark.can('list_files') -%}{{ return(none) }}{%- endif -%}
    {%- set unread = adapter.call_function('tidemark.spark.files.passed_over', files) -%}
    {%- if unread -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': of a folder only the files right in it are read, and those below folders called name=value, but there '
            ~ ('is ' if unread | length == 1 else 'are ') ~ unread[:3] | join(', ') ~ (' and ' ~ (unread | length - 3) ~ ' more' if unread | length > 3 else '')
            ~ '. Name their folders in location (it may end in /*), set options: {recursiveFileLookup: true} in meta.tidemark, or take them away') -%}
    {%- endif -%}
{%- endmacro -%}

{#- The view over Parquet files. Of columns that not all of them have Spark would take those of one file, and lose the others; a file
    without a byte it passes over, and its rows would be taken for deleted ones. -#}
{%- macro make_parquet_view(cfg, view, path, files) -%}
    {%- for file in files if file['size'] == 0 -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': ' ~ file['path'] ~ ' is empty, which no Parquet file is. Deliver it again, or take it away') -%}
    {%- endfor -%}
    {%- set told = adapter.footers_of(files) if tidemark.can('read_footers') else {'nanoseconds': {}, 'differ': files | length > 1} -%}
    {%- set merges = told['differ'] and not cfg['options'].keys() | map('lower') | select('equalto', 'mergeschema') | list -%}
    {%- set options = dict(cfg['options'], mergeSchema='true') if merges else cfg['options'] -%}
    {%- do run_query(tidemark.extract_view_sql(dict(cfg, options=options), view, path, [], told['nanoseconds'])) -%}
{%- endmacro -%}

{#- What is to be known of the lines of text files: `malformed`, whether some bytes may not be of the encoding that they are read by
    (Parquet has its own), `mixed`, whether CSV lines end in two ways, and then `has_return`, see mixed_ends_sql(). -#}
{%- macro look_at_lines(cfg, path) -%}
    {%- if cfg['format'] == 'parquet' -%}{{ return({'malformed': false, 'mixed': false, 'odd': false}) }}{%- endif -%}
    {%- set lines = tidemark.query_rows(tidemark.lines_told_sql(cfg, path))[0] -%}
    {%- set options = tidemark.csv_options(cfg['options']) if cfg['format'] == 'csv' else {} -%}
    {%- if cfg['format'] == 'csv' and not tidemark.is_utf8(options['encoding']) -%}{%- do lines.update({'malformed': true}) -%}{%- endif -%}
    {%- set own_end = cfg['options'].keys() | map('lower') | select('equalto', 'linesep') | list -%}
    {%- do lines.update({'mixed': cfg['format'] == 'csv' and lines['mixed'] and not own_end}) -%}
    {%- if lines['mixed'] -%}
        {%- set first = tidemark.query_rows(tidemark.first_lines_sql(cfg, path)) -%}
        {%- set headers = first | map(attribute='line') | unique(case_sensitive=true) | list -%}
        {#- the reader would not compare them: to it the carriage return is a part of the last name -#}
        {%- if headers | length > 1 and options['header'] | string | lower == 'true' -%}
            {%- do tidemark.raise_error('data', cfg['entity'] ~ ': the files at ' ~ path ~ ' have different headers, '
                ~ headers[0] ~ ' and ' ~ headers[1] ~ '. Deliver all files of a date with the same columns in the same order') -%}
        {%- endif -%}
        {%- do lines.update({'has_return': first | map(attribute='has_return') | select | list | length > 0}) -%}
    {%- endif -%}
    {{ return(lines) }}
{%- endmacro -%}

{#- Stop at a CSV file that ends within a quote. -#}
{%- macro check_quotes(cfg, view, path, names) -%}
    {%- for found in tidemark.query_rows(tidemark.open_quote_sql(cfg, view, path, names)) -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': ' ~ found['file'] ~ ' ends within a quote that nothing closes: its delivery broke off, or a quote '
            ~ 'is not doubled. What comes after that quote would be lost as rows. Deliver it again') -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The view over CSV files, whatever their lines end with. -#}
{%- macro make_csv_view(cfg, view, path, names, lines) -%}
    {%- set read_as = lines.get('read_as', {}) -%}
    {%- if not lines['mixed'] -%}
        {%- do run_query(tidemark.extract_view_sql(cfg, view, path, names, read_as)) -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set mixed = tidemark.run_view(cfg['target'], 'mixed') -%}
    {%- do run_query(tidemark.extract_view_sql(cfg, mixed, path, names, dict(read_as, lineSep='\n', enforceSchema='true'))) -%}
    {%- do run_query(tidemark.mixed_ends_sql(view, mixed, names, lines['has_return'])) -%}
{%- endmacro -%}

{#- The view over CSV files with such bytes. A name in the header that has them is no name. -#}
{%- macro make_readable_csv_view(cfg, view, path, names, told) -%}
    {%- set options = tidemark.csv_options(cfg['options']) -%}
    {%- set declared, has_header = options['encoding'], options['header'] | default('true') | string | lower == 'true' -%}
    {%- for name in names if '\uFFFD' in name -%}{%- do tidemark.raise_encoding(cfg, path, name) -%}{%- endfor -%}
    {%- set read_as = {'encoding': 'ISO-8859-1'} if tidemark.is_utf8(declared) else {} -%}
    {%- set read_names = names -%}
    {%- if (read_as or told['mark']) and has_header -%}
        {%- set read_names = tidemark.describe_query(tidemark.csv_header_sql(cfg, path, read_as)) | map(attribute='name') | list -%}
    {%- endif -%}
    {%- set lines = tidemark.run_view(cfg['target'], 'lines') -%}
    {%- do tidemark.make_csv_view(cfg, lines, path, read_names, dict(told, read_as=read_as)) -%}
    {%- do run_query(tidemark.readable_csv_sql(dict(cfg, mark='' if has_header else told['mark']), view, lines, names, read_names)) -%}
{%- endmacro -%}

{#- A header of one name with semicolons in it is not that of a file with commas. -#}
{%- macro check_separator(cfg, options, found, path) -%}
    {%- if found | length == 1 and found[0] | lower not in (cfg['columns'] | map(attribute='name') | list + cfg['keys']) | map('lower') | list -%}
        {%- for sep, shown in [(';', "';'"), ('\t', '"\\t"'), ('|', "'|'")] if sep in found[0] -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': the header of ' ~ path ~ ' is one column, `' ~ found[0] ~ '`. If ' ~ shown
                ~ ' is between its columns, set options: {sep: ' ~ shown ~ '} in meta.tidemark'
            ) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}

{#- A header that no view of the file could have: what Spark makes of a name that is not there, or there twice, tells of it. -#}
{%- macro check_header(cfg, found, path) -%}
    {%- set own = ['_unreadable', '_malformed'] -%}
    {%- set header = 'the header of ' ~ path -%}
    {#- what Spark reads of a byte order mark alone -#}
    {%- if found == ['\x00'] -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': ' ~ path ~ ' has nothing in it but a byte order mark. Deliver it again, with its header') -%}
    {%- endif -%}
    {%- for name in found -%}
        {%- if '\x00' in name -%}
            {%- do tidemark.raise_encoding(cfg, path, name) -%}
        {%- elif tidemark.refused_name(name, own) -%}
            {%- do tidemark.raise_error('configuration', cfg['entity'] ~ ': in ' ~ header ~ ', ' ~ tidemark.refused_name(name, own) ~ ': rename it in the source') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not tidemark.has_made_names(found) -%}{{ return(none) }}{%- endif -%}
    {%- set written = tidemark.query_rows(tidemark.csv_header_sql(cfg, path, {'header': 'false'}) ~ ' limit 1') -%}
    {%- set names = written[0].values() | list if written | length else [] -%}
    {%- for name in names if name is none or name == '' -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': column ' ~ (names.index(name) + 1) ~ ' in ' ~ header ~ ' has no name. Give it one in the source') -%}
    {%- endfor -%}
    {%- for name in names if names | map('lower') | select('equalto', name | lower) | list | length > 1 -%}
        {%- do tidemark.raise_error('data', cfg['entity'] ~ ': ' ~ header ~ ' has column `' ~ name ~ '` twice (names differ at most in case). Rename one in the source') -%}
    {%- endfor -%}
{%- endmacro -%}

{#- Stop at a name that is not of the encoding that the file is read by. -#}
{%- macro raise_encoding(cfg, path, name) -%}
    {%- do tidemark.raise_error('configuration',
        cfg['entity'] ~ ': the header of ' ~ path ~ ' is not ' ~ tidemark.csv_options(cfg['options'])['encoding'] ~ ': `'
        ~ name | replace('\x00', '\uFFFD') ~ '`. Say which encoding the file has: options: {encoding: windows-1252} in meta.tidemark'
    ) -%}
{%- endmacro -%}

{#- Whether each line of large CSV files is a row, so that Spark can share out the lines of a file. -#}
{%- macro is_read_by_line(cfg, path, files) -%}
    {%- set plain = cfg['options'].keys() | map('lower') | reject('in', ['header', 'sep', 'delimiter', 'nullvalue', 'dateformat', 'timestampformat']) | list -%}
    {#- Below that size one core reads it as fast as one looks. -#}
    {%- if plain or files | map(attribute='size') | max < 16 * 1024 * 1024 -%}{{ return(false) }}{%- endif -%}
    {%- for file in files if file['path'].endswith(('.gz', '.bz2', '.zst', '.snappy', '.lz4', '.deflate')) -%}
        {{ return(false) }}
    {%- endfor -%}
    {{ return(run_query(tidemark.row_over_lines_sql(cfg, path)) | length == 0) }}
{%- endmacro -%}

{#- For --empty without a file: no rows, with the columns of the last load, of the settings and of the YAML. -#}
{%- macro make_empty_extract_view(cfg, recorded) -%}
    {%- set types, names, terms = {}, {}, [] -%}
    {%- for column in (recorded or {}).get('columns', []) if not column.get('dropped') -%}{%- do types.update({column['name'] | lower: tidemark.quoted_type(column['type'])}) -%}{%- endfor -%}
    {%- for column in cfg['columns'] if column['data_type'] -%}{%- do types.update({column['name'] | lower: column['data_type']}) -%}{%- endfor -%}
    {%- if cfg['effective_from'] -%}{%- do types.setdefault(cfg['effective_from'] | lower, 'timestamp') -%}{%- endif -%}
    {%- set told = cfg['columns'] | map(attribute='name') | list + cfg['keys'] + cfg['ignore'] + cfg['sensitive'] -%}
    {%- for name in told + types.keys() | list -%}{%- do names.setdefault(name | lower, name) -%}{%- endfor -%}
    {%- for name in cfg['partition_by'] + cfg['cluster_by'] if '.' not in name and not name.startswith('_') -%}{%- do names.setdefault(name | lower, name) -%}{%- endfor -%}
    {%- for lower, name in names.items() -%}
        {%- do terms.append('cast(null as ' ~ types.get(lower, 'string') ~ ') as ' ~ tidemark.quote_identifier(name)) -%}
    {%- endfor -%}
    {%- do tidemark.make_view(tidemark.run_view(cfg['target'], 'extract'), 'select ' ~ terms | join(', ') ~ ' where false') -%}
{%- endmacro -%}
