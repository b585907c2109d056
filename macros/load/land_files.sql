{#- Files at a location that no commit has read to the end, in name order, with their numbers: see numbered_files(). -#}
{%- macro files_to_read(opened, location) -%}
    {%- set relations, state = opened['relations'], opened['state'] -%}
    {%- set there = tidemark.files_at(location) -%}
    {%- if not there -%}{{ return([]) }}{%- endif -%}
    {%- set landed = relations['landed'] if not state['first'] and tidemark.relation_exists(relations['landed']) else none -%}
    {%- if landed and tidemark.can('list_files') -%}{%- do adapter.follow_files(landed, tidemark.landed_file(), there) -%}{%- endif -%}
    {%- set files = adapter.unread_files(there, landed, state['undone']) if tidemark.has_delta_files(opened['cfg']) else none -%}
    {%- if files is none -%}
        {%- set landed = tidemark.as_it_is(opened['cfg'], landed, 'landed') if landed else none -%}
        {%- set files = tidemark.query_rows(tidemark.event_files_sql(location, landed, state['undone'])) -%}
    {%- endif -%}
    {%- do tidemark.check_lines(opened['cfg'], files) -%}
    {{ return(tidemark.numbered_files(files)) }}
{%- endmacro -%}

{#- Files to read, each with the number that its lines are known by (`_file_number`), and the one that orders them (`_arrival_number`): of a
    file that was read before a new one, as what it has got is later than all that was read. What a rollback has left to be read again comes
    first, in the order in which it was read first. -#}
{%- macro numbered_files(files) -%}
    {{ return(adapter.call_function('tidemark.rules.order.numbered_files', files)) }}
{%- endmacro -%}

{#- The view over the lines of files, cached, as events are told apart by several looks at them. Of Parquet files Spark takes the columns
    that one of those at the location has: those of the others, which a table gained later, would be lost. -#}
{%- macro make_lines_view(cfg, run, location, files) -%}
    {%- set lines = tidemark.run_view(cfg['target'], 'lines') -%}
    {%- set is_parquet = files[0]['_file'].endswith('.parquet') -%}
    {%- if is_parquet and tidemark.can('read_footers') -%}
        {%- set rows = tidemark.run_view(cfg['target'], 'rows') -%}
        {%- do adapter.view_parquet_files(rows, files, location) -%}
        {%- set sql = 'select * from ' ~ rows -%}
    {%- else -%}
        {%- set sql = tidemark.event_lines_sql(location, files, is_parquet) -%}
    {%- endif -%}
    {{ return(tidemark.make_view(lines, sql, not run['empty'])) }}
{%- endmacro -%}

{%- macro warn_of_no_file(cfg) -%}
    {%- do tidemark.warn(cfg['entity'], 'there is no file at ' ~ cfg['location'] ~ ' yet (location in meta.tidemark)') -%}
{%- endmacro -%}

