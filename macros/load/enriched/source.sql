{#- Enriched events that have landed, as one batch: {parts, files, arrived, columns, is_rows}; no parts if nothing has. -#}
{%- macro enriched__source(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set landing = tidemark.land_enriched(opened, body) -%}
    {%- set is_idle = cfg['location'] is not none and not landing['files'] -%}
    {%- if is_idle and opened['state']['first'] and not run['empty'] -%}
        {%- do tidemark.warn_of_no_file(cfg) -%}
    {%- endif -%}
    {%- if run['empty'] or is_idle -%}
        {%- do tidemark.enriched__prepare(opened) -%}
        {{ return(dict(landing, parts=[])) }}
    {%- endif -%}
    {{ return(dict(landing, parts=['all'])) }}
{%- endmacro -%}


{#-
    Where the events come from: lines of files that were not read yet, or rows with the canonical columns. Either is
    cached, because `_row` numbers them within one read.
-#}
{%- macro land_enriched(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- set arrived, extract = tidemark.run_view(cfg['target'], 'arrived'), tidemark.run_view(cfg['target'], 'extract') -%}
    {%- set files = [] -%}
    {%- if cfg['location'] -%}
        {%- set dated = '{' in cfg['location'] -%}
        {%- if dated and not run['business_date'] and not run['empty'] -%}
            {%- do tidemark.raise_no_date(cfg) -%}
        {%- endif -%}
        {%- set location = tidemark.extract_path(cfg['location'], run['business_date']) -%}
        {%- set files = [] if run['empty'] else tidemark.enriched_files(opened, location, dated) -%}
        {%- if files -%}
            {%- do tidemark.make_view(extract, 'select value, _file, _row from '
                ~ tidemark.make_lines_view(cfg, run, location, files)) -%}
        {%- else -%}
            {%- do tidemark.make_view(extract,
                'select cast(null as string) as value, cast(null as string) as _file, cast(null as bigint) as _row where false') -%}
        {%- endif -%}
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
    {{ return({'files': files, 'arrived': arrived, 'columns': columns, 'is_rows': not is_lines}) }}
{%- endmacro -%}


{#- The files to read; of a business date there must be one, unless all of it was read before. -#}
{%- macro enriched_files(opened, location, dated) -%}
    {%- set files = tidemark.files_to_read(opened, location) -%}
    {%- if not files and dated and not tidemark.files_at(location) -%}
        {%- do tidemark.raise_error('data', opened['cfg']['entity'] ~ ': there is no file at ' ~ location) -%}
    {%- endif -%}
    {{ return(files) }}
{%- endmacro -%}
