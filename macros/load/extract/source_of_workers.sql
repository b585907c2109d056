{#- The source as the engine in the workers reads it, with `files`, `fields` and `separator`; none where Spark has to. Of the files
    nothing but the first line, or the footer, was read so far. -#}
{%- macro source_of_workers(opened, body) -%}
    {%- set cfg, run = opened['cfg'], opened['run'] -%}
    {%- if not tidemark.tries_workers(opened, body, 'covers.why_not') -%}{{ return(none) }}{%- endif -%}
    {%- set files = adapter.list_files(tidemark.extract_path(cfg['location'], run['business_date'])) -%}
    {%- if not files -%}{{ return(none) }}{%- endif -%}
    {%- do tidemark.check_lines(cfg, files) -%}
    {%- set separator = adapter.call_function('tidemark.engine.covers.separator_of', cfg['options']) -%}
    {%- set reader, given = {
        'csv': ('header_of', [separator]), 'parquet': ('footer_of', []), 'json': ('members_of', [cfg['columns'] | map(attribute='name') | list]),
    }[cfg['format']] -%}
    {%- set header = adapter.call_function('tidemark.engine.header.' ~ reader, files, *given) -%}
    {%- if header.get('why_not') -%}{{ return(tidemark.leave_to_spark(opened, header['why_not'])) }}{%- endif -%}
    {%- set columns = [] -%}
    {%- for name in header['names'] -%}
        {%- do columns.append({'name': name, 'type': header['types'][loop.index0]}) -%}
    {%- endfor -%}
    {%- if cfg['format'] != 'parquet' -%}{%- do columns.append({'name': '_unreadable', 'type': 'string'}) -%}{%- endif -%}
    {{ return({
        'parts': ['all'], 'body': body, 'columns': columns, 'fields': header['names'], 'file_names': header.get('found', header['names']),
        'origin': tidemark.origin_of_extract(cfg, run), 'files': header['paths'], 'stamps': header['stamps'], 'separator': separator,
    }) }}
{%- endmacro -%}

