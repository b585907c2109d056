{#-
    The view that extract() reads. CSV and JSON values arrive as text and are typed in staging, where a value that
    cannot be read is noticed; `header` is the list of names in a CSV file, in its order. `by_line`: each line is a row,
    see row_over_lines_sql().
-#}
{%- macro extract_view_sql(cfg, view, path, header, by_line=false) -%}
{%- if cfg['format'] == 'csv' -%}
{%- set options = tidemark.csv_options(cfg['options']) -%}
{%- if by_line -%}
    {%- do options.update({'multiLine': 'false'}) -%}
{%- endif -%}
{%- do options.update({
    'path': path, 'mode': 'PERMISSIVE', 'columnNameOfCorruptRecord': '_unreadable',
    'columnPruning': 'false', 'enforceSchema': 'false',
}) -%}
create or replace temporary view {{ view }} (
    {%- for name in header %}
    {{ tidemark.quote_identifier(name) }} string,
    {%- endfor %}
    _unreadable string
)
using csv
options ({{ tidemark.options_expr(options) }})
{%- elif cfg['format'] == 'json' -%}
{%- set fields = [] -%}
{%- for column in cfg['columns'] -%}
    {%- set nested = column['data_type'] and '<' in column['data_type'] -%}
    {%- do fields.append(tidemark.quote_identifier(column['name']) ~ ' ' ~ (column['data_type'] if nested else 'string')) -%}
{%- endfor -%}
{%- set options = {} -%}
{%- do options.update(cfg['options']) -%}
{%- do options.update({'mode': 'PERMISSIVE', 'columnNameOfCorruptRecord': '_unreadable'}) -%}
create or replace temporary view {{ view }} as
select parsed.*
from (
    select from_json(
        value,
        {{ tidemark.string_literal((fields + ['_unreadable string']) | join(', ')) }},
        map({{ tidemark.options_expr(options, ', ') }})
    ) as parsed
    from text.{{ tidemark.quote_identifier(path) }}
    where trim(value) <> ''
)
{%- else -%}
create or replace temporary view {{ view }} as
select * from {{ tidemark.file_relation_expr('parquet', path, cfg['options']) }}
{%- endif -%}
{%- endmacro -%}


{#- Names of a CSV file's columns: a query whose result has them. -#}
{%- macro csv_header_sql(cfg, path) -%}
select * from {{ tidemark.file_relation_expr('csv', path, tidemark.csv_options(cfg['options'])) }}
{%- endmacro -%}


{#- The names of the first JSON lines, which the YAML need not have. -#}
{%- macro json_names_sql(path) -%}
select distinct explode(json_object_keys(value)) as name
from (select value from text.{{ tidemark.quote_identifier(path) }} limit 1000)
order by name asc nulls last
{%- endmacro -%}


{#-
    A line of a CSV file that keeps it from being read line by line, which several cores can do at once: with a quote a
    row may go on in the next line, and a blank line or a carriage return inside a line is read in another way. One that
    ends a line is as good as none.
-#}
{%- macro row_over_lines_sql(cfg, path) -%}
select 1
from {{ tidemark.file_relation_expr('text', path, {'lineSep': '\n'}) }}
where
    contains(value, {{ tidemark.string_literal(tidemark.csv_options(cfg['options'])['quote']) }})
    or (contains(value, '\r') and position('\r' in value) < length(value))
    or (trim(value) = '' and value <> '')
limit 1
{%- endmacro -%}


{#-
    Reader options of a CSV file, RFC 4180 by default: quotes doubled inside quotes, line breaks allowed inside them.
    An empty field is NULL and a quoted empty field is ''; Spark tells them apart only if nullValue is another text.
-#}
{%- macro csv_options(options) -%}
    {%- set merged = {
        'header': 'true', 'quote': '"', 'escape': '"', 'multiLine': 'true', 'encoding': 'UTF-8', 'nullValue': '\x01NULL\x01',
    } -%}
    {%- for name, value in options.items() -%}
        {%- for default in merged.keys() | list if default | lower == name | lower -%}
            {%- do merged.pop(default) -%}
        {%- endfor -%}
        {%- do merged.update({name: value}) -%}
    {%- endfor -%}
    {{ return(merged) }}
{%- endmacro -%}


{#- Reader options as `'name' '…'` pairs, or with another joint as arguments. Booleans become true and false. -#}
{%- macro options_expr(options, joint=' ') -%}
    {%- set pairs = [] -%}
    {%- for name, value in options.items() -%}
        {%- set text = value | string | lower if value is boolean else value | string -%}
        {%- do pairs.append(tidemark.string_literal(name) ~ joint ~ tidemark.string_literal(text)) -%}
    {%- endfor -%}
    {{ return(pairs | join(', ')) }}
{%- endmacro -%}


{#- A file, folder or glob as a relation with reader options. -#}
{%- macro file_relation_expr(format, path, options) -%}
    {%- set relation = format ~ '.' ~ tidemark.quote_identifier(path) -%}
    {{ return(relation ~ (' with (' ~ tidemark.options_expr(options) ~ ')' if options else '')) }}
{%- endmacro -%}
