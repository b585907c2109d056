{#- The columns of a table in one of Debezium's schema-change messages (`tableChanges[].table.columns`), in the shape of
    connect_columns(): how the values of its events will be written, and the Spark type that holds them. `connector` is the message's
    `source.connector`; without it the type names tell. The settings are those of Tidemark's capture: decimals as strings, binary as
    hex, unsigned bigint precise, time precision adaptive, intervals as strings. Of another capture (`captured` false) nothing tells how
    it writes bytes; unsigned bigint tells itself. `ddl` is the text of the statement.
    https://debezium.io/documentation/reference/3.5/connectors/mysql.html#mysql-data-types, likewise oracle and sqlserver -#}
{%- macro ddl_columns(columns, connector=none, captured=true, ddl='') -%}
    {%- set family = tidemark._ddl_family(columns, connector) -%}
    {%- set found = [] -%}
    {%- for column in columns -%}
        {%- if family == 'oracle' -%}
            {%- set type = tidemark._oracle_type(column) -%}
        {%- elif family == 'sqlserver' -%}
            {%- set type = tidemark._sqlserver_type(column) -%}
        {%- else -%}
            {%- set type = tidemark._mysql_type(column) -%}
        {%- endif -%}
        {%- set described = {'name': column['name'], 'encoding': type[0], 'type': type[1], 'optional': column.get('optional', true)} -%}
        {%- do described.update(tidemark._ddl_default(column, described, family)) -%}
        {%- if family in ['mysql', 'mariadb'] and tidemark._has_implicit_default(column, ddl) -%}
            {%- set text = tidemark._implicit_default(column, described['encoding']) -%}
            {%- if text is not none -%}{%- do described.update({'default': text}) -%}{%- endif -%}
        {%- endif -%}
        {%- if not captured and described['encoding'] in ['hex', 'decimal_bytes:0'] -%}
            {%- do described.update({
                'encoding': {'hex': 'auto', 'decimal_bytes:0': 'unsigned'}[described['encoding']],
                'default_encoding': described['encoding'],
            }) -%}
        {%- endif -%}
        {%- do found.append(described) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- Whose type names these are. Oracle's DATE and TIMESTAMP have the JDBC type of a timestamp; SQL Server's names are lower case. -#}
{%- macro _ddl_family(columns, connector) -%}
    {%- if connector -%}{{ return(connector) }}{%- endif -%}
    {%- set state = namespace(family='mysql') -%}
    {%- for column in columns -%}
        {%- set name = column.get('typeName') or '' -%}
        {%- if name.split('(')[0] in [
            'NUMBER', 'VARCHAR2', 'NVARCHAR2', 'CLOB', 'NCLOB', 'RAW', 'BINARY_FLOAT', 'BINARY_DOUBLE', 'ROWID', 'XMLTYPE',
        ] or name.split('(')[0].split(' ')[0] in ['DATE', 'TIMESTAMP'] and column.get('jdbcType') in [93, -101, -102] -%}
            {%- set state.family = 'oracle' -%}
        {%- elif name and name == name | lower and state.family == 'mysql' -%}
            {%- set state.family = 'sqlserver' -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(state.family) }}
{%- endmacro -%}

{#- (encoding, type) of a count since the epoch by the digits behind the second. -#}
{%- macro _timestamp_type(digits) -%}
    {{ return((tidemark._fraction_unit(digits), 'timestamp_ntz')) }}
{%- endmacro -%}

{#- What is counted where so many digits stand behind the second. -#}
{%- macro _fraction_unit(digits) -%}
    {%- if digits <= 3 -%}{{ return('millis') }}{%- endif -%}
    {{ return('micros' if digits <= 6 else 'nanos') }}
{%- endmacro -%}

{#- MySQL and MariaDB. -#}
{%- macro _mysql_type(column) -%}
    {%- set name = (column.get('typeName') or '') | upper -%}
    {%- set word = name.split('(')[0].split(' ')[0] -%}
    {%- set unsigned = tidemark._is_unsigned(name) -%}
    {%- set length, scale = column.get('length') or 0, column.get('scale') -%}
    {%- if word in ['DECIMAL', 'NUMERIC', 'DEC', 'FIXED'] -%}
        {{ return(('auto', tidemark._decimal_type(length or 10, scale or 0))) }}
    {%- elif tidemark._is_unsigned_bigint(name) -%}
        {{ return(('decimal_bytes:0', 'decimal(20,0)')) }}
    {%- elif word == 'BIT' -%}
        {{ return(('boolean', 'boolean') if length <= 1 else ('base64', 'binary')) }}
    {%- elif word == 'DATETIME' -%}
        {{ return(tidemark._timestamp_type(length)) }}
    {%- elif word == 'FLOAT' and scale is none and length <= 24 -%}
        {{ return(('number', 'float')) }}
    {%- elif word in tidemark._binary_types() -%}
        {{ return(('hex', 'binary')) }}
    {%- endif -%}
    {{ return(tidemark._type_of(word, [
        ('number', 'smallint', 'TINYINT INT1'), ('number', 'int' if unsigned else 'smallint', 'SMALLINT INT2'),
        ('number', 'int', 'MEDIUMINT INT3 MIDDLEINT YEAR'), ('number', 'bigint' if unsigned else 'int', 'INT INTEGER INT4'),
        ('number', 'bigint', 'BIGINT INT8'), ('number', 'float', 'FLOAT4'), ('number', 'double', 'FLOAT FLOAT8 DOUBLE REAL'),
        ('boolean', 'boolean', 'BOOL BOOLEAN'), ('days', 'date', 'DATE'), ('time_micros', 'string', 'TIME'), ('iso', 'timestamp', 'TIMESTAMP'),
        ('array:number', 'array<float>', 'VECTOR'),
        ('json', 'string', 'GEOMETRY POINT LINESTRING POLYGON MULTIPOINT MULTILINESTRING MULTIPOLYGON GEOMETRYCOLLECTION GEOMCOLLECTION'),
    ])) }}
{%- endmacro -%}

{#- Whether values of a type of theirs, in upper case, are never negative: what is filled with zeros is not. -#}
{%- macro _is_unsigned(name) -%}
    {{ return(' UNSIGNED' in name or ' ZEROFILL' in name) }}
{%- endmacro -%}

{#- Whether they may be too large for a bigint, too. -#}
{%- macro _is_unsigned_bigint(name) -%}
    {%- set word = name.split('(')[0].split(' ')[0] -%}
    {{ return(word in ['BIGINT', 'INT8'] and tidemark._is_unsigned(name) or word == 'SERIAL') }}
{%- endmacro -%}

{#- Oracle. A NUMBER without a scale and a FLOAT have no bound that a decimal could hold. The places of a timestamp stand in its name
    (`TIMESTAMP(9)`, from the catalogue) or are its length (from parsed DDL). -#}
{%- macro _oracle_type(column) -%}
    {%- set name = (column.get('typeName') or '') | upper -%}
    {%- set word = name.split('(')[0].split(' ')[0] -%}
    {%- set length, scale = column.get('length') or 0, column.get('scale') -%}
    {%- if word == 'NUMBER' and scale is not none and length -%}
        {%- set digits = length - scale -%}
        {%- if scale > 0 or digits > 18 -%}{{ return(('auto', tidemark._decimal_type(length, scale))) }}{%- endif -%}
        {%- for type, most in [('tinyint', 2), ('smallint', 4), ('int', 9), ('bigint', 18)] if digits <= most -%}{{ return(('number', type)) }}{%- endfor -%}
    {%- elif word == 'TIMESTAMP' and 'ZONE' in name -%}
        {{ return(('iso', 'timestamp')) }}
    {%- elif word == 'TIMESTAMP' -%}
        {%- set named = modules.re.match('^TIMESTAMP[(]([0-9])[)]', name) -%}
        {%- if named -%}{{ return(tidemark._timestamp_type(named.group(1) | int)) }}{%- endif -%}
        {%- if scale is not none -%}{{ return(tidemark._timestamp_type(scale)) }}{%- endif -%}
        {{ return(tidemark._timestamp_type(length if length <= 9 else 6)) }}
    {%- elif word == 'INTERVAL' -%}
        {{ return(('text', 'string')) }}
    {%- elif word in tidemark._binary_types() -%}
        {{ return(('hex', 'binary')) }}
    {%- endif -%}
    {{ return(tidemark._type_of(word, [
        ('millis', 'timestamp_ntz', 'DATE'), ('number', 'float', 'BINARY_FLOAT'), ('number', 'double', 'BINARY_DOUBLE'),
        ('boolean', 'boolean', 'BOOLEAN'), ('json', 'string', 'SDO_GEOMETRY MDSYS.SDO_GEOMETRY'),
    ])) }}
{%- endmacro -%}

{#- SQL Server, whose `timestamp` is a row version and whose tinyint goes to 255. -#}
{%- macro _sqlserver_type(column) -%}
    {%- set word = ((column.get('typeName') or '') | lower).split('(')[0].split(' ')[0] -%}
    {%- set length, scale = column.get('length') or 0, column.get('scale') -%}
    {%- set places = 7 if scale is none else scale -%}
    {%- if word in ['decimal', 'numeric'] -%}{{ return(('auto', tidemark._decimal_type(length or 18, scale or 0))) }}{%- endif -%}
    {%- if word == 'datetime2' -%}{{ return(tidemark._timestamp_type(places)) }}{%- endif -%}
    {%- if word == 'time' -%}{{ return(('time_' ~ tidemark._fraction_unit(places), 'string')) }}{%- endif -%}
    {{ return(tidemark._type_of(word, [
        ('boolean', 'boolean', 'bit'), ('number', 'smallint', 'tinyint smallint'), ('number', 'int', 'int'), ('number', 'bigint', 'bigint'),
        ('number', 'float', 'real'), ('number', 'double', 'float'), ('auto', 'decimal(19,4)', 'money'), ('auto', 'decimal(10,4)', 'smallmoney'),
        ('days', 'date', 'date'), ('millis', 'timestamp_ntz', 'datetime smalldatetime'), ('iso', 'timestamp', 'datetimeoffset'),
        ('hex', 'binary', 'binary varbinary image timestamp rowversion'), ('json', 'string', 'geometry geography'),
    ])) }}
{%- endmacro -%}

{#- (encoding, type) of a name, of a table that has them by names; what it does not have is told by each value, as a text. -#}
{%- macro _type_of(name, table, other=('auto', 'string')) -%}
    {%- for encoding, type, names in table if name in names.split(' ') -%}{{ return((encoding, type)) }}{%- endfor -%}
    {{ return(other) }}
{%- endmacro -%}

{#- {default} of a column as the text of a value in its encoding, {} where there is none or it is an expression. MySQL's defaults come
    without quotes, Oracle's and SQL Server's as they stand in the DDL: `'std'`, `((0))`, `sysdate`. -#}
{%- macro _ddl_default(column, described, family) -%}
    {%- set given = column.get('defaultValueExpression') -%}
    {%- if given is none -%}{{ return({'default': none} if column.get('hasDefaultValue') else {}) }}{%- endif -%}
    {%- set state = namespace(text=given | string) -%}
    {%- if family in ['oracle', 'sqlserver'] -%}
        {%- set bare = modules.re.match('^[( ]*(.*?)[) ]*$', state.text, 16).group(1) -%}
        {%- set quoted = modules.re.match("^[( ]*[nN]?'(.*)'[) ]*$", state.text, 16) -%}
        {%- if bare | upper == 'NULL' -%}
            {{ return({'default': none}) }}
        {%- elif quoted -%}
            {%- set state.text = quoted.group(1).replace("''", "'") -%}
        {%- elif modules.re.match('(?i)^([-+]?[0-9]*[.]?[0-9]+|true|false)$', bare) -%}
            {%- set state.text = bare -%}
        {%- else -%}
            {{ return({}) }}
        {%- endif -%}
    {%- endif -%}
    {#- in any case; of a number they are 1 and 0 -#}
    {%- if state.text | lower in ['true', 'false'] and described['type'] != 'string' -%}
        {%- set state.text = state.text | lower if described['encoding'] == 'boolean' else {'true': '1', 'false': '0'}[state.text | lower] -%}
    {%- endif -%}
    {%- set text = tidemark._encoded_literal(state.text, described['encoding']) -%}
    {{ return({} if text is none else tidemark._default_value(text, described)) }}
{%- endmacro -%}

{#- Whether the rows that are there get what MySQL and MariaDB have for a type, as a statement adds a column that is NOT NULL and has no
    default. An expression that tells another value is in the statement alone. -#}
{%- macro _has_implicit_default(column, ddl) -%}
    {{ return(
        not column.get('optional', true) and column.get('defaultValueExpression') is none
        and not (column.get('hasDefaultValue') or column.get('autoIncremented') or column.get('generated'))
        and modules.re.search('(?i)\\badd\\b', ddl) is not none
        and modules.re.search('(?i)\\bas\\s*[(]|\\bdefault\\b', tidemark._definition_of(column['name'], ddl)) is none
    ) }}
{%- endmacro -%}

{#- What a statement says of a column that it adds, without texts and comments: behind ADD, or else behind a comma, where a list of columns
    within something else may name it too. The whole statement where it cannot be told. -#}
{%- macro _definition_of(name, ddl) -%}
    {%- set within = '[^,()]*(?:[(][^()]*(?:[(][^()]*[)][^()]*)*[)][^,()]*)*' -%}
    {%- set column = '\\s*[`"]?' ~ modules.re.escape(name) ~ '[`"]?(?![\\w$])(' ~ within ~ ')' -%}
    {%- set said = tidemark._without_texts(ddl) -%}
    {%- for before in ['\\badd\\s+(?:column\\s+)?(?:if\\s+not\\s+exists\\s+)?[(]?', ','] -%}
        {%- for definition in modules.re.findall('(?is)' ~ before ~ column, said) if definition.strip() -%}{{ return(definition) }}{%- endfor -%}
    {%- endfor -%}
    {{ return(ddl) }}
{%- endmacro -%}

{#- That value as the text of an event's: zero, the empty text, the first of an ENUM; none where it is a date, or no event could bring it. -#}
{%- macro _implicit_default(column, encoding) -%}
    {%- if encoding == 'boolean' -%}{{ return('false') }}{%- endif -%}
    {%- set word = (column.get('typeName') or '').split('(')[0].split(' ')[0] | upper -%}
    {%- set length = column.get('length') or 1 -%}
    {%- set first = (column.get('enumValues') or ["''"])[0][1:-1] | replace("''", "'") -%}
    {%- set literal = {'ENUM': first, 'BIT': '0' * length, 'BINARY': '0x' ~ '00' * length, 'TIME': '00:00:00'}.get(word) -%}
    {%- if literal is none -%}
        {%- set literal = tidemark._type_of(word, [
            ('0', 'number', 'TINYINT INT1 SMALLINT INT2 MEDIUMINT INT3 MIDDLEINT INT INTEGER INT4 BIGINT INT8 YEAR'),
            ('0', 'number', 'DECIMAL NUMERIC DEC FIXED FLOAT FLOAT4 FLOAT8 DOUBLE REAL'),
            ('', 'text', 'CHAR VARCHAR CHARACTER NCHAR NVARCHAR TINYTEXT TEXT MEDIUMTEXT LONGTEXT SET'),
            ('', 'bytes', 'VARBINARY TINYBLOB BLOB MEDIUMBLOB LONGBLOB'),
        ], (none, none))[0] -%}
    {%- endif -%}
    {{ return(literal if literal is none else tidemark._encoded_literal(literal, encoding)) }}
{%- endmacro -%}

{#- The text of a SQL literal as that of an event's value; none where it is not one of the encoding. -#}
{%- macro _encoded_literal(text, encoding) -%}
    {%- set per_second = {
        'days': 1, 'millis': 1000, 'micros': 1000000, 'nanos': 1000000000,
        'time_millis': 1000, 'time_micros': 1000000, 'time_nanos': 1000000000,
    }.get(encoding) -%}
    {%- if per_second -%}
        {%- set parts = modules.re.match(
            '^(?:([0-9]{4})-([0-9]{2})-([0-9]{2}))?[ T]?(?:(-?)([0-9]+):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]{1,9}))?)?)?$',
            text
        ) -%}
        {%- if not parts or not text or (parts.group(1) is none) != encoding.startswith('time_') or parts.group(2) == '00' -%}
            {{ return(none) }}
        {%- endif -%}
        {%- set days = tidemark._days_since_epoch(parts.group(1) | int, parts.group(2) | int, parts.group(3) | int)
            if parts.group(1) else 0 -%}
        {%- if encoding == 'days' -%}{{ return(days | string) }}{%- endif -%}
        {%- set seconds = (parts.group(5) or 0) | int * 3600 + (parts.group(6) or 0) | int * 60 + (parts.group(7) or 0) | int -%}
        {%- set nanos = (((parts.group(8) or '') ~ '000000000')[:9]) | int -%}
        {%- set count = days * 86400 * per_second + seconds * per_second + nanos * per_second // 1000000000 -%}
        {{ return((-count if parts.group(4) else count) | string) }}
    {%- elif encoding == 'decimal_bytes:0' -%}
        {{ return(tidemark._number_base64(text | int) if modules.re.match('^[0-9]{1,38}$', text) else none) }}
    {%- elif encoding == 'base64' -%}
        {#- bits, the lowest byte first -#}
        {%- set bits = modules.re.match("^(?:[bB]')?([01]{1,64})'?$", text) -%}
        {%- if not bits -%}{{ return(none) }}{%- endif -%}
        {%- set number = bits.group(1) | int(base=2) -%}
        {%- set bytes = [] -%}
        {%- for _ in range((bits.group(1) | length + 7) // 8) -%}{%- do bytes.append(number // 256 ** loop.index0 % 256) -%}{%- endfor -%}
        {{ return(tidemark._base64_text(bytes)) }}
    {%- elif encoding == 'hex' -%}
        {%- set digits = modules.re.match("^(?:0x|[xX]')([0-9a-fA-F]*)'?$", text) -%}
        {{ return(digits.group(1) if digits else text.encode('utf-8').hex()) }}
    {%- elif encoding.startswith('array') or encoding == 'json' -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(text) }}
{%- endmacro -%}

{#- Days from 1970-01-01 to a date of the proleptic Gregorian calendar; the year is taken to begin in March. -#}
{%- macro _days_since_epoch(year, month, day) -%}
    {%- set y = year - 1 if month <= 2 else year -%}
    {%- set day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1 -%}
    {{ return(365 * y + y // 4 - y // 100 + y // 400 + day_of_year - 719468) }}
{%- endmacro -%}

{#- Base64 of a whole number that is not negative, big-endian with room for the sign. -#}
{%- macro _number_base64(number) -%}
    {%- set bytes = [] -%}
    {%- for index in range(17) -%}
        {%- if index == 0 or number * 2 >= 256 ** index -%}{%- do bytes.insert(0, number // 256 ** index % 256) -%}{%- endif -%}
    {%- endfor -%}
    {{ return(tidemark._base64_text(bytes)) }}
{%- endmacro -%}
