{#- How intervals are shown: the names of their columns, what stands for an open end, whether the time in
    which a key was deleted is a row too, and whether they are of both axes: then what is told of a key
    (`per`) is told of a key in a span of commits. -#}
{%- macro interval_options(deletes=false, open_end=none, columns=none, unit='date', axes=['business']) -%}
    {%- set names = {'valid_from': '_valid_from', 'valid_to': '_valid_to', 'is_current': '_is_current',
        'is_deleted': '_is_deleted'} -%}
    {%- set given = columns or {} -%}
    {%- set problem = namespace(text=none) -%}
    {%- if deletes is not boolean -%}
        {%- set problem.text = 'deletes must be true or false, found: ' ~ deletes -%}
    {%- elif given is not mapping -%}
        {%- set problem.text = "columns must be a mapping such as {'valid_from': 'since'}, found: "
            ~ given -%}
    {%- else -%}
        {%- for name in given if name not in names -%}
            {%- set problem.text = 'columns has no `' ~ name ~ '`'
                ~ (tidemark._did_you_mean(name, names.keys() | list)
                or ': there are ' ~ names.keys() | join(', ')) -%}
        {%- endfor -%}
        {%- do names.update(given) -%}
        {%- if 'is_deleted' in given and not deletes -%}
            {%- set problem.text = 'columns names `is_deleted`, which there is only with deletes=true' -%}
        {%- elif names.values() | map('lower') | unique | list | length < names | length -%}
            {%- set problem.text = 'columns gives two columns one name: ' ~ names.values() | join(', ') -%}
        {%- endif -%}
    {%- endif -%}
    {%- if problem.text -%}
        {%- do tidemark.raise_error('usage', 'tidemark.scd2: ' ~ problem.text) -%}
    {%- endif -%}
    {%- set is_bitemporal = axes | length > 1 -%}
    {{ return({'names': names, 'deletes': deletes, 'is_bitemporal': is_bitemporal,
        'per': '_key_hash' ~ (', _tidemark_known_from' if is_bitemporal else ''),
        'open_end': none if open_end is none or not execute else tidemark._open_end_expr(open_end, unit)}) }}
{%- endmacro -%}

{#- What stands for an open end: a date, a timestamp, or of a sequence a number or a timestamp. -#}
{%- macro _open_end_expr(value, unit) -%}
    {%- set text = value | string | trim -%}
    {%- set kind = 'number' if modules.re.fullmatch('[0-9]+', text) else 'text' -%}
    {%- if modules.re.match('[0-9]{4}-', text) -%}{%- set kind = tidemark.moment_of(text,
        'tidemark.scd2: open_end')['kind'] -%}{%- endif -%}
    {%- if kind == 'date' and unit == 'date' -%}{{ return("date'" ~ text ~ "'") }}{%- endif -%}
    {%- if kind in ['date', 'timestamp'] and unit in ['timestamp', 'sequence'] -%}{{ return("timestamp'"
        ~ text ~ "'") }}{%- endif -%}
    {%- if kind == 'number' and unit == 'sequence' -%}
        {{ return('cast(' ~ text ~ ' as bigint)') }}
    {%- endif -%}
    {%- do tidemark.raise_error('usage', 'tidemark.scd2: open_end must be ' ~ {
        'date': "a date such as '9999-12-31' for intervals of business dates",
        'timestamp': "a timestamp such as '9999-12-31 00:00:00' for intervals of event times",
        'sequence': "a number or a timestamp, as sequence_by is, for intervals of one",
        'none': "left out for intervals of several columns of sequence_by",
    }[unit] ~ ", found: '" ~ text ~ "'") -%}
{%- endmacro -%}

{#- The columns of an interval, of rows that have `_valid_to` (NULL: open) and `_operation`; `start` is where
    it begins. -#}
{%- macro interval_columns_expr(options, start='_valid_from') -%}
    {%- set ends = '_valid_to' if options['open_end'] is none
        else 'coalesce(_valid_to, ' ~ options['open_end'] ~ ')' -%}
    {%- set parts = [('valid_from', start), ('valid_to', ends), ('is_current', '_valid_to is null')] -%}
    {%- if options['deletes'] -%}{%- do parts.append(('is_deleted', "_operation = 'D'")) -%}{%- endif -%}
    {%- set terms = [] -%}
    {%- for name, value in parts -%}
        {%- set shown = options['names'][name] -%}
        {%- set shown = shown if shown == '_' ~ name else tidemark.quote_identifier(shown) -%}
        {%- do terms.append(value if value == shown else value ~ ' as ' ~ shown) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro -%}

{#- The end of an interval as it is told, NULL where it is what stands for an open end. -#}
{%- macro closed_end_expr(column, open_end) -%}
    {%- set name = tidemark.quote_identifier(column) -%}
    {%- if open_end is none -%}{{ return(name) }}{%- endif -%}
    {{ return('nullif(' ~ name ~ ', '
        ~ (open_end if open_end is number else tidemark.string_literal(open_end | string)) ~ ')') }}
{%- endmacro -%}
