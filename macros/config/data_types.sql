{#- Refuse declared types that Spark does not have, before it is asked: by column, with the type that was meant. What cannot be judged
    by its letters is left to Spark. -#}
{%- macro _check_data_types(columns, errors) -%}
    {%- for column in columns if column['data_type'] -%}
        {%- set unknown = tidemark._unknown_type(column['data_type']) -%}
        {%- if unknown -%}
            {%- do errors.append(
                'column `' ~ column['name'] ~ '`: ' ~ ('data_type `' ~ unknown ~ '`' if unknown == column['data_type'] | string | trim
                else '`' ~ unknown ~ '` in data_type `' ~ column['data_type'] ~ '`')
                ~ ' is no type of Spark' ~ tidemark._meant_type(unknown)
            ) -%}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The part of a type that is none, the innermost; none if all of it may be one. -#}
{%- macro _unknown_type(type) -%}
    {%- set text = type | string | trim -%}
    {%- if "'" in text or '"' in text -%}{{ return(none) }}{%- endif -%}
    {%- set nested = modules.re.fullmatch('(?i)(array|map|struct)\\s*<([\\s\\S]*)>', text) -%}
    {%- if nested -%}
        {%- for part in tidemark._type_parts(nested.group(2)) -%}
            {%- if nested.group(1) | lower == 'struct' -%}
                {%- set part = modules.re.sub('^\\s*(`([^`]|``)+`|[^:\\s]+)(\\s*:|\\s)\\s*', '', part) -%}
                {%- set part = modules.re.sub('(?i)\\s+not\\s+null', '', part) -%}
            {%- endif -%}
            {%- set unknown = tidemark._unknown_type(part) -%}
            {%- if unknown -%}{{ return(unknown) }}{%- endif -%}
        {%- endfor -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set word = modules.re.match('[^\\s(<]*', text | lower).group(0) -%}
    {%- set rest = text[word | length:] | trim -%}
    {%- set fits = {
        'char': '[(]\\s*\\d+\\s*[)]', 'character': '[(]\\s*\\d+\\s*[)]', 'varchar': '[(]\\s*\\d+\\s*[)]',
        'decimal': '([(]\\s*\\d+\\s*(,\\s*\\d+\\s*)?[)])?', 'dec': '([(]\\s*\\d+\\s*(,\\s*\\d+\\s*)?[)])?',
        'numeric': '([(]\\s*\\d+\\s*(,\\s*\\d+\\s*)?[)])?',
        'array': none, 'map': none, 'struct': none, 'object': none,
        'string': '(?i)(collate\\s.*)?', 'timestamp': '(?i)([(]\\d+[)])?\\s*(with.*)?', 'time': '(?i)([(]\\d+[)])?\\s*(with.*)?',
        'interval': '[\\s\\S]*', 'geometry': '[\\s\\S]*', 'geography': '[\\s\\S]*',
    } -%}
    {%- set allowed = fits.get(word, '') -%}
    {%- if tidemark._has_too_many_digits(word, rest) -%}{{ return(text) }}{%- endif -%}
    {{ return(none if word in tidemark._type_words() and allowed is not none and modules.re.fullmatch(allowed, rest) else text) }}
{%- endmacro -%}

{#- Whether a decimal has more digits than Spark's, or more of them after the point than it has. -#}
{%- macro _has_too_many_digits(word, rest) -%}
    {%- set digits = modules.re.findall('\\d+', rest) | map('int') | list if word in ['decimal', 'dec', 'numeric'] else [] -%}
    {{ return(digits and (digits[0] > 38 or digits | length > 1 and digits[1] > digits[0])) }}
{%- endmacro -%}

{#- "; did you mean `string`?" for a type of another system, a misspelt one, or one whose brackets are wrong. -#}
{%- macro _meant_type(text) -%}
    {%- set word = modules.re.match('[^\\s(<]*', text | lower).group(0) -%}
    {%- set rest = text[word | length:] -%}
    {%- set known = tidemark._type_words() | reject('in', ['object', 'void', 'geometry', 'geography']) | list -%}
    {%- set forms = {
        'char': 'char(10)', 'character': 'character(10)', 'varchar': 'varchar(10)', 'decimal': 'decimal(18,2)', 'dec': 'dec(18,2)',
        'numeric': 'numeric(18,2)', 'array': 'array<string>', 'map': 'map<string, string>', 'struct': 'struct<a: int, b: string>',
    } -%}
    {%- set elsewhere = {
        'text': 'string', 'txt': 'string', 'str': 'string', 'varchar2': 'string', 'nvarchar': 'string', 'clob': 'string', 'uuid': 'string', 'json': 'string',
        'jsonb': 'string', 'bool': 'boolean', 'bit': 'boolean', 'datetime': 'timestamp', 'datetime2': 'timestamp', 'timestamptz': 'timestamp',
        'number': 'decimal(18,2)', 'money': 'decimal(19,4)', 'int2': 'smallint', 'int4': 'int', 'int8': 'bigint', 'int32': 'int',
        'int64': 'bigint', 'serial': 'int', 'bigserial': 'bigint', 'float4': 'float', 'float8': 'double', 'float64': 'double',
        'blob': 'binary', 'bytea': 'binary', 'bytes': 'binary', 'list': 'array<string>', 'dict': 'map<string, string>',
    } -%}
    {%- if tidemark._has_too_many_digits(word, rest) -%}{{ return(': up to 38 digits, and no more of them after the point than there are') }}{%- endif -%}
    {%- if word in elsewhere -%}{{ return('; did you mean `' ~ elsewhere[word] ~ '`?') }}{%- endif -%}
    {%- if word in known -%}{{ return(': it is written like `' ~ forms.get(word, word) ~ '`') }}{%- endif -%}
    {%- set nearest = tidemark._nearest(word, known) -%}
    {%- set meant = nearest ~ rest if nearest and tidemark._unknown_type(nearest ~ rest) is none else forms.get(nearest, nearest) -%}
    {{ return('; did you mean `' ~ meant ~ '`?' if nearest else '; there are string, int, bigint, double, decimal(18,2), boolean, date, timestamp and others') }}
{%- endmacro -%}

{%- macro is_utf8(encoding) -%}
    {{ return((encoding or 'UTF-8') | string | lower | replace('_', '-') in ['utf-8', 'utf8']) }}
{%- endmacro -%}
