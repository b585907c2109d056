{#- Enriched events that have landed, as one batch: {parts, files, body, location}, and what view_enriched() gives unless the
    engine in the workers is to try them first; no parts if nothing has landed. -#}
{%- macro enriched__source(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set landed = dict(tidemark.landed_enriched(opened), body=body) -%}
    {%- set is_idle = cfg['location'] is not none and not landed['files'] -%}
    {%- if is_idle and opened['state']['replaces'] and not run['empty'] -%}
        {%- do tidemark.warn(cfg['entity'], 'there is no file at ' ~ cfg['location'] ~ ' that could be read again, so its tables stay as they are') -%}
    {%- elif is_idle and opened['state']['first'] and not run['empty'] -%}
        {%- do tidemark.warn_of_no_file(cfg) -%}
    {%- endif -%}
    {%- if run['empty'] or is_idle -%}
        {%- set source = tidemark.view_enriched(opened, landed) -%}
        {%- if not opened['state']['replaces'] -%}{%- do tidemark.enriched__prepare(opened) -%}{%- endif -%}
        {{ return(dict(source, parts=[])) }}
    {%- endif -%}
    {%- if tidemark.workers_take_enriched(opened, body) -%}{{ return(dict(landed, parts=['all'], by_workers=true)) }}{%- endif -%}
    {{ return(dict(tidemark.view_enriched(opened, landed), parts=['all'])) }}
{%- endmacro -%}

{#- The files that were not read yet, and where they lie: {files, location}. -#}
{%- macro landed_enriched(opened) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if not cfg['location'] -%}{{ return({'files': [], 'location': none}) }}{%- endif -%}
    {%- set dated = '{' in cfg['location'] -%}
    {%- if dated and not run['business_date'] and not run['empty'] -%}
        {%- do tidemark.raise_no_date(cfg) -%}
    {%- endif -%}
    {%- set location = tidemark.extract_path(cfg['location'], run['business_date']) -%}
    {{ return({'files': [] if run['empty'] else tidemark.enriched_files(opened, location, dated), 'location': location}) }}
{%- endmacro -%}

{#- Where Spark reads the events: lines of the files, or rows with the canonical columns. Either is cached, because `_row`
    numbers them within one read. -#}
{%- macro view_enriched(opened, landed) -%}
    {%- set cfg, run, body = opened['cfg'], opened['run'], landed['body'] -%}
    {%- set arrived, extract = tidemark.run_view(cfg['target'], 'arrived'), tidemark.run_view(cfg['target'], 'extract') -%}
    {%- if landed['files'] -%}
        {%- do tidemark.make_view(extract, 'select value, _file, _row from '
            ~ tidemark.make_lines_view(cfg, run, landed['location'], landed['files'])) -%}
    {%- elif cfg['location'] -%}
        {%- do tidemark.make_view(extract,
            'select cast(null as string) as value, cast(null as string) as _file, cast(null as bigint) as _row where false') -%}
    {%- endif -%}
    {%- set columns = tidemark.describe_query(body) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- set is_lines = 'value' in names and 'event_id' not in names -%}
    {%- if not is_lines -%}
        {%- for name in ['event_id', 'event_fingerprint', 'collector_tstamp'] if name not in names -%}
            {%- do tidemark.raise_error('configuration',
                cfg['entity'] ~ ': the body must yield lines of enriched events in a column `value`, or rows with the canonical columns; `' ~ name ~ '` is missing'
            ) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if not cfg['location'] and 'natural_cross_batch' not in cfg['deduplicate'] -%}
        {%- do tidemark.raise_error('configuration',
            cfg['entity'] ~ ': without location a run takes all that the body yields, and only natural_cross_batch keeps what was stored from being stored again: add it to deduplicate'
        ) -%}
    {%- endif -%}
    {%- set numbered = '_row' in names -%}
    {%- set sql = 'select *' ~ ('' if numbered else ', monotonically_increasing_id() as _row') ~ ' from (\n' ~ body ~ '\n)' -%}
    {%- do tidemark.make_view(arrived, sql, not numbered and not run['empty']) -%}
    {{ return(dict(landed, arrived=arrived, columns=columns, is_rows=not is_lines)) }}
{%- endmacro -%}

{#- The files to read; of a business date there must be one, unless all of it was read before. -#}
{%- macro enriched_files(opened, location, dated) -%}
    {%- set files = tidemark.files_to_read(opened, location) -%}
    {#- a new file arrives under its own number, and of what was rolled back nothing is stored -#}
    {%- set changed = [] -%}
    {%- for file in files if file['_arrival_number'] != file['_file_number'] and file['_owed_number'] is none -%}{%- do changed.append(file['_file']) -%}{%- endfor -%}
    {%- if changed and 'natural_cross_batch' not in opened['cfg']['deduplicate'] -%}
        {%- do tidemark.raise_error('data',
            opened['cfg']['entity'] ~ ': ' ~ changed[0] ~ ' has changed since it was read, and without natural_cross_batch in deduplicate its events '
            ~ 'would be stored once more; nothing was written. Move it away, and land what is new in a file of its own'
        ) -%}
    {%- endif -%}
    {%- if not files and dated and not tidemark.files_at(location) -%}
        {%- do tidemark.raise_error('data', opened['cfg']['entity'] ~ ': there is no file at ' ~ location) -%}
    {%- endif -%}
    {{ return(files) }}
{%- endmacro -%}
