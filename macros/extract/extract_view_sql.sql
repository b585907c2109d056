{#- The view that extract() reads. CSV and JSON values arrive as text and are typed in staging, where a value
    that cannot be read is noticed; `header` is the list of names in a CSV file, in its order; `read_as` has
    reader options that hold for this load alone, of Parquet the types of columns that count nanoseconds. Of
    files with malformed bytes readable_csv_sql() and readable_json_sql() tell them. -#}
{%- macro extract_view_sql(cfg, view, path, header, read_as={}) -%}
{%- if cfg['format'] == 'csv' -%}
{%- set options = tidemark.csv_options(cfg['options']) -%}
{%- do options.update({
    'path': path, 'mode': 'PERMISSIVE', 'columnNameOfCorruptRecord': '_unreadable',
    'columnPruning': 'false', 'enforceSchema': 'false',
}) -%}
{%- do options.update(read_as) -%}
create or replace temporary view {{ view }} (
    {%- for name in header %}
    {{ tidemark.quote_identifier(name) }} string,
    {%- endfor %}
    _unreadable string
)
using csv
options ({{ tidemark.options_expr(options) }})
{%- elif cfg['format'] == 'json' -%}
create or replace temporary view {{ view }} as
select
    {%- for column in cfg['columns'] %}
    {{ tidemark._json_value_expr(column) }} as {{ tidemark.quote_identifier(column['name']) }},
    {%- endfor %}
    {{ tidemark._unreadable_json_expr(cfg) }} as _unreadable
from (
    select
        value,
        {{ tidemark._own_members_expr('value') }} as own_members,
        {{ tidemark._json_fields_expr(cfg, 'value') | indent(4) }} as parsed
    from {{ tidemark._lines_relation_expr(cfg, path) }}
    where trim(value) <> ''
)
{%- else -%}
create or replace temporary view {{ view }} as
select *
{%- if read_as %} except ({% for name
    in read_as %}{{ tidemark.quote_identifier(name) }}{{ ', ' if not loop.last }}{% endfor %}){% endif %}
{%- for name, type in read_as.items() %},
    {{ tidemark.decode_expr(tidemark.quote_identifier(name), 'nanos', type) }}
        as {{ tidemark.quote_identifier(name) }}
{%- endfor %} from {{ tidemark.file_relation_expr('parquet', path, cfg['options']) }}
{%- endif -%}
{%- endmacro -%}

{#- The members of a JSON line by the columns of the YAML, and the line where it cannot be parsed. As a string
    a number with a point is that of the nearest double, so what becomes a decimal is read as a variant, which
    has all digits. -#}
{%- macro _json_fields_expr(cfg, value) -%}
{%- set fields = [] -%}
{%- for column in cfg['columns'] -%}
    {%- set text = 'variant' if tidemark._is_decimal(column) else 'string' -%}
    {%- set type = column['data_type'] if tidemark._is_nested(column) else text -%}
    {%- do fields.append(tidemark.quote_identifier(column['name']) ~ ' ' ~ type) -%}
{%- endfor -%}
{%- set options = dict(cfg['options'], mode='PERMISSIVE', columnNameOfCorruptRecord='_unreadable') -%}
from_json(
        {{ value }},
        {{ tidemark.string_literal((fields + ['_unreadable string']) | join(', ')) }},
        map({{ tidemark.options_expr(options, ', ') }})
    )
{%- endmacro -%}

{#- The text of a member, or its value where it is nested. -#}
{%- macro _json_value_expr(column) -%}
    {%- set value = 'parsed.' ~ tidemark.quote_identifier(column['name']) -%}
    {%- if tidemark._is_decimal(column) -%}{{ return('cast(' ~ value ~ ' as string)') }}{%- endif -%}
    {{ return(tidemark._written_text_expr(column['name'], value) if tidemark._is_text(column) else value) }}
{%- endmacro -%}

{#- A text that may be the nearest double of a number, or the infinity of one beyond all doubles: that number
    as the line has it. -#}
{%- macro _written_text_expr(name, text) -%}
    {%- set number = '(?<!\\\\)"' ~ modules.re.escape(name)
        ~ '"\\s*:\\s*(-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?)(?=\\s*[,}])' -%}
    {%- set written = 'regexp_extract(own_members, ' ~ tidemark.string_literal(number) ~ ', 1)' -%}
    {{ return(
        'case when ' ~ text ~ " rlike '^(-?[0-9]+[.][0-9]+(E-?[0-9]+)?|\"-?Infinity\")$' and try_cast("
            ~ written ~ ' as double) = try_cast(trim(\'"\' from '
        ~ text ~ ') as double) then ' ~ written ~ ' else ' ~ text ~ ' end'
    ) }}
{%- endmacro -%}

{#- A line without what is in the objects and arrays that it has, whose members may be called as its own are.
    Possessive throughout, so that the length of no text counts; what is more than six levels deep is left.
    -#}
{%- macro _own_members_expr(line) -%}
    {%- set text = '"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"?+' -%}
    {%- set inner = namespace(value='') -%}
    {%- for _ in range(6) -%}
        {%- set inner.value = '[\\[{](?:[^"\\[\\]{}]++|' ~ text ~ ('|' ~ inner.value if inner.value else '')
            ~ ')*+[\\]}]' -%}
    {%- endfor -%}
    {%- set first = "position('{' in " ~ line ~ ')' -%}
    {{ return(
        "if(locate('{', " ~ line ~ ', ' ~ first ~ ' + 1) = 0, ' ~ line ~ ', regexp_replace(substring(' ~ line
            ~ ', ' ~ first ~ ' + 1), '
        ~ tidemark.string_literal('(' ~ text ~ ')|' ~ inner.value) ~ ", '$1'))"
    ) }}
{%- endmacro -%}

{#- A line that cannot be parsed, or that has more than one object; where nothing follows the first brace that
    closes it has none. -#}
{%- macro _unreadable_json_expr(cfg) -%}
    {%- set options = ', map(' ~ tidemark.options_expr(cfg['options'], ', ') ~ ')' if cfg['options']
        else '' -%}
    {{ return(
        "if(position('}' in value) = length(rtrim(value)) or " ~ tidemark.is_one_json_expr('value', options)
            ~ ', parsed._unreadable, value)'
    ) }}
{%- endmacro -%}

{%- macro _is_decimal(column) -%}
    {{ return(column['data_type']
        and modules.re.match('(?i)(decimal|dec|numeric)\\b', column['data_type'] | trim)) }}
{%- endmacro -%}

{%- macro _is_text(column) -%}
    {{ return(not column['data_type']
        or modules.re.match('(?i)(string|char|character|varchar)\\b', column['data_type'] | trim)) }}
{%- endmacro -%}

{%- macro _is_nested(column) -%}
    {{ return(column['data_type'] and '<' in column['data_type']) }}
{%- endmacro -%}

{#- What the lines of text files are: `malformed`, whether one is not UTF-8 (Spark puts U+FFFD for such bytes,
    which a file may also have of its own), `mixed`, whether some end with a carriage return and some do not,
    and `odd`, whether a CSV file has an odd number of quotes: see open_quote_sql(). -#}
{%- macro line_findings_sql(cfg, path) -%}
select
    coalesce(bool_or(malformed), false) as malformed,
    coalesce(bool_or(with_return) and bool_or(without_return), false) as mixed,
    coalesce(bool_or(quotes % 2 = 1), false) as odd
from (
    select
        bool_or(not is_valid_utf8(value)) as malformed,
        bool_or(endswith(value, '\r')) as with_return,
        bool_or(not endswith(value, '\r')) as without_return,
        sum({{ tidemark._quotes_expr(cfg) }}) as quotes
    from {{ tidemark._lines_relation_expr(cfg, path) }}
    group by _metadata.file_path
)
{%- endmacro -%}

{#- How many quotes a line of CSV has, where a quote within quotes stands doubled; else 0. -#}
{%- macro _quotes_expr(cfg) -%}
    {%- set options = tidemark.csv_options(cfg['options']) if cfg['format'] == 'csv' else {} -%}
    {%- if not options or options['quote'] != options['escape'] or options['quote'] | length != 1
        or not tidemark.is_utf8(options['encoding']) -%}{{ return('0') }}{%- endif -%}
    {{ return("length(value) - length(replace(value, " ~ tidemark.string_literal(options['quote']) ~ "))") }}
{%- endmacro -%}

{#- The CSV files that end within a quote which nothing closes: to Spark's reader the rest of the file is one
    value, and its rows are lost without a word. That value ends as the last line does, or is what follows the
    quote in it. `names` are the columns of the view. A single quote within a value without quotes makes their
    number odd too, and is none. -#}
{%- macro open_quote_sql(cfg, view, path, names) -%}
{%- set options = tidemark.csv_options(cfg['options']) -%}
{%- set quote, separator = tidemark.string_literal(options['quote']),
    tidemark.string_literal(options.get('sep', options.get('delimiter', ','))) -%}
with last_lines as (
    select
        file,
        replace(rtrim(' \t\r', max(if(trim(value) in ('', '\r'), null, struct(block, place, value))).value),
            repeat({{ quote }}, 2), {{ quote }}) as line
    from (
        select
            value,
            _metadata.file_path as file,
            _metadata.file_block_start as block,
            monotonically_increasing_id() as place
        from {{ tidemark._lines_relation_expr(cfg, path) }}
    )
    group by file
    having sum({{ tidemark._quotes_expr(cfg) }}) % 2 = 1
),

endings as (
    select explode(transform(array({{ tidemark.column_list_expr(names) | replace('\n', ' ') }}),
        value -> rtrim(' \t\r\n', value))) as ending
    from {{ view }}
)

select file
from last_lines
left semi join endings on
    endswith(ending, concat('\n', line))
    or endswith(line, concat({{ separator }}, {{ quote }}, ending))
    or line = concat({{ quote }}, ending)
order by file asc nulls last
{%- endmacro -%}

{#- The lines of text files, those that the options choose. -#}
{%- macro _lines_relation_expr(cfg, path) -%}
    {%- set options = {'lineSep': '\n'} if cfg['format'] == 'csv' else {} -%}
    {%- for name, value in cfg['options'].items()
        if name | lower in ['pathglobfilter', 'recursivefilelookup', 'modifiedbefore', 'modifiedafter',
        'compression'] -%}
        {%- do options.update({name: value}) -%}
    {%- endfor -%}
    {{ return(tidemark.file_relation_expr('text', path, options)) }}
{%- endmacro -%}

{#- The first line of each CSV file, without what ends it, and whether that is a carriage return too. -#}
{%- macro first_lines_sql(cfg, path) -%}
select distinct rtrim('\r', ltrim('\uFEFF', line)) as line, endswith(line, '\r') as has_return
from (
    select min_by(value, place) as line
    from (
        select value, _metadata.file_path as file, monotonically_increasing_id() as place
        from {{ tidemark._lines_relation_expr(cfg, path) }}
        where _metadata.file_block_start = 0
    )
    group by file
)
order by line asc nulls last
{%- endmacro -%}

{#- The rows of a view over CSV files of mixed line ends, which was read with a line feed as the end: the
    carriage return before one is no part of a value, and a line that has nothing else no row. Where a first
    line has it, line breaks in quotes are line feeds, as where all lines have it. -#}
{%- macro mixed_ends_sql(view, lines, names, has_return) -%}
{%- set values = [] -%}
{%- for name in names -%}
    {%- set name = tidemark.quote_identifier(name) -%}
    {%- set ended = "case when " ~ name ~ " = '\\r' then null when endswith(" ~ name ~ ", '\\r') then left("
        ~ name ~ ", length(" ~ name ~ ") - 1) else " ~ name ~ ' end' -%}
    {#- the last value of a line that is too short is in another column -#}
    {%- set value = ended if loop.last else 'if(_unreadable is null, ' ~ name ~ ', ' ~ ended ~ ')' -%}
    {%- do values.append(("replace(" ~ value ~ ", '\\r\\n', '\\n')" if has_return else value) ~ ' as '
        ~ name) -%}
{%- endfor -%}
create or replace temporary view {{ view }} as
select
    {{ values | join(',\n    ') }},
    _unreadable
from {{ lines }}
where not coalesce({{ "_unreadable in ('', '\\r')" if names | length > 1
    else tidemark.quote_identifier(names[0]) ~ " = '\\r'" }}, false)
{%- endmacro -%}

{#- The rows of a view over CSV files that are not all of the encoding which they are read by: `_malformed` is
    the line of a row that is not, whose values are NULL where they have such bytes. `lines` has the columns
    `read_names` and `_unreadable`; what is declared as UTF-8 was read byte by byte, as ISO-8859-1, because
    that alone keeps what is malformed. What `cfg` has as `mark` stands before the first value of a file. -#}
{%- macro readable_csv_sql(cfg, view, lines, names, read_names) -%}
{%- set options = tidemark.csv_options(cfg['options']) -%}
{%- set is_utf8 = tidemark.is_utf8(options['encoding']) -%}
{%- set raw, readable, whole = [], [], [] -%}
{%- for name in names -%}
    {%- set read = tidemark.quote_identifier(read_names[loop.index0]) -%}
    {%- if cfg.get('mark') and loop.first -%}
        {%- set read = 'if(startswith(' ~ read ~ ', ' ~ tidemark.string_literal(cfg['mark']) ~ '), substring('
            ~ read ~ ', ' ~ (cfg['mark'] | length + 1) ~ '), ' ~ read ~ ')' -%}
    {%- endif -%}
    {%- set quoted = tidemark.quote_identifier(name) -%}
    {%- do raw.append((tidemark._raw_text_expr(read) if is_utf8 else read) ~ ' as ' ~ quoted) -%}
    {%- do readable.append('if(' ~ tidemark._is_readable_expr(quoted, is_utf8) ~ ', ' ~ quoted ~ ', null) as '
        ~ quoted) -%}
    {%- do whole.append("coalesce(" ~ read ~ ", '')") -%}
{%- endfor -%}
{%- set separator = options.get('sep', options.get('delimiter', ',')) -%}
{%- set line = 'concat_ws(' ~ tidemark.string_literal(separator) ~ ', ' ~ whole | join(', ') ~ ')' -%}
{%- set told = tidemark.malformed_text_expr('_line') if is_utf8
    else 'concat(' ~ tidemark.string_literal('not ' ~ options['encoding'] ~ ': ') ~ ', _line)' -%}
create or replace temporary view {{ view }} as
select
    {{ readable | join(',\n    ') }},
    if({{ tidemark._is_readable_expr('_unreadable', is_utf8) }}, _unreadable, {{ told | replace('_line',
        '_unreadable') }}) as _unreadable,
    if({{ tidemark._is_readable_expr('_line', is_utf8) }}, null, {{ told }}) as _malformed
from (
    select
        {{ raw | join(',\n        ') }},
        {{ tidemark._raw_text_expr('_unreadable') if is_utf8 else '_unreadable' }} as _unreadable,
        {{ tidemark._raw_text_expr(line) if is_utf8 else line }} as _line
    from {{ lines }}
)
{%- endmacro -%}

{#- The same of JSON lines: of one that is not UTF-8 the ASCII values are left, so that its key may be known.
    -#}
{%- macro readable_json_sql(cfg, view, path) -%}
create or replace temporary view {{ view }} as
select
    {%- for column in cfg['columns'] %}
    {%- set value = tidemark._json_value_expr(column) %}
    if({{ '_is_readable' if tidemark._is_nested(column)
        else '_is_readable or ' ~ value ~ " rlike '^[ -~]*$'" }}, {{ value }},
            null) as {{ tidemark.quote_identifier(column['name']) }},
    {%- endfor %}
    if(_is_readable, {{ tidemark._unreadable_json_expr(cfg) }}, null) as _unreadable,
    if(_is_readable, null, {{ tidemark.malformed_text_expr('value') }}) as _malformed
from (
    select
        value,
        {{ tidemark._own_members_expr('value') }} as own_members,
        is_valid_utf8(value) as _is_readable,
        {{ tidemark._json_fields_expr(cfg,
            "if(is_valid_utf8(value), value, decode(cast(value as binary), 'ISO-8859-1'))")
                | indent(4) }} as parsed
    from {{ tidemark._lines_relation_expr(cfg, path) }}
    where trim(value) <> ''
)
{%- endmacro -%}

{#- What was read as ISO-8859-1 as the bytes that it is, whatever they are. -#}
{%- macro _raw_text_expr(text) -%}
    {{ return('cast(encode(' ~ text ~ ", 'ISO-8859-1') as string)") }}
{%- endmacro -%}

{#- No other encoding has U+FFFD, but for UTF-16 and UTF-32, where what is one is not told from what became
    one. -#}
{%- macro _is_readable_expr(text, is_utf8) -%}
    {{ return('coalesce(is_valid_utf8(' ~ text ~ '), true)' if is_utf8
        else "not coalesce(contains(" ~ text ~ ", '\\uFFFD'), false)") }}
{%- endmacro -%}

{#- Names of a CSV file's columns: a query whose result has them; with `header` false its first row, as they
    are written. -#}
{%- macro csv_header_sql(cfg, path, read_as={}) -%}
select * from {{ tidemark.file_relation_expr('csv', path,
    dict(tidemark.csv_options(cfg['options']), **read_as)) }}
{%- endmacro -%}

{#- Whether Spark may have made names of a CSV file's columns: one without a name is called _c and its place,
    those of one name (in any case) get their places at the end. -#}
{%- macro has_made_names(names) -%}
    {%- set stems = [] -%}
    {%- for name in names -%}
        {%- set place = loop.index0 | string -%}
        {%- if name == '_c' ~ place -%}{{ return(true) }}{%- endif -%}
        {%- if name.endswith(place) -%}
            {%- do stems.append((name | lower)[:-(place | length)]) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(stems | unique | list | length < stems | length) }}
{%- endmacro -%}

{#- The names of the first JSON lines, which the YAML need not have. -#}
{%- macro json_names_sql(cfg, path) -%}
select distinct explode(json_object_keys(value)) as name
from (select value from {{ tidemark._lines_relation_expr(cfg, path) }} limit 1000)
order by name asc nulls last
{%- endmacro -%}

{#- A line of a CSV file that keeps it from being read line by line, which several cores can do at once: with
    a quote a row may go on in the next line, and a blank line or a carriage return inside a line is read in
    another way. One that ends a line is as good as none. -#}
{%- macro row_over_lines_sql(cfg, path) -%}
select 1
from {{ tidemark.file_relation_expr('text', path, {'lineSep': '\n'}) }}
where
    contains(value, {{ tidemark.string_literal(tidemark.csv_options(cfg['options'])['quote']) }})
    or (contains(value, '\r') and position('\r' in value) < length(value))
    or (trim(value) = '' and value <> '')
limit 1
{%- endmacro -%}

{#- Reader options of a CSV file, RFC 4180 by default: quotes doubled inside quotes, line breaks allowed
    inside them. An empty field is NULL and a quoted empty field is ''; Spark tells them apart only if
    nullValue is another text. -#}
{%- macro csv_options(options) -%}
    {%- set merged = {
        'header': 'true', 'quote': '"', 'escape': '"', 'multiLine': 'true', 'encoding': 'UTF-8',
        'nullValue': '\x01NULL\x01',
    } -%}
    {%- for name, value in options.items() -%}
        {%- for default in merged.keys() | list if default | lower == name | lower -%}
            {%- do merged.pop(default) -%}
        {%- endfor -%}
        {#- the default would win over its other name -#}
        {%- do merged.update({'encoding' if name | lower in ['encoding', 'charset'] else name: value}) -%}
    {%- endfor -%}
    {{ return(merged) }}
{%- endmacro -%}

{#- Reader options as `'name' '…'` pairs, or with another joint as arguments. Booleans become true and false.
    -#}
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
