{#- The columns of a Kafka Connect struct schema (`fields` of an event's `before` or `after`): how their values are written and the
    Spark type that holds them, as {name, encoding, type, optional} and, if the schema has one, `default` as the text of a value in that
    encoding. -#}
{%- macro connect_columns(fields) -%}
    {%- set columns = [] -%}
    {%- for field in fields -%}
        {%- set column = {'name': field['field']} -%}
        {%- do column.update(tidemark._connect_type(field)) -%}
        {%- do column.update({'optional': field.get('optional', false)}) -%}
        {%- if 'default' in field -%}
            {%- do column.update(tidemark._default_value(tidemark._json_text(field['default']), column)) -%}
        {%- endif -%}
        {%- do columns.append(column) -%}
    {%- endfor -%}
    {{ return(columns) }}
{%- endmacro -%}

{#- {default}, and whether it is the epoch or the nil UUID, which Debezium sends in place of an expression. -#}
{%- macro _default_value(text, column) -%}
    {%- set zero = column['encoding'] in ['days', 'millis', 'micros', 'nanos'] and text == '0'
        or column['encoding'] == 'iso' and modules.re.match('^1970-01-01([T ]00:00:00[.0]*)?Z?$', text or '')
        or text == '00000000-0000-0000-0000-000000000000' -%}
    {{ return({'default': text, 'default_is_stand_in': true} if zero else {'default': text}) }}
{%- endmacro -%}

{#- {encoding, type} of a schema: by its semantic name, then by the source column's type, then by its own type. -#}
{%- macro _connect_type(schema) -%}
    {%- set short = (schema.get('name') or '') | replace('io.debezium.', 'D.') | replace('org.apache.kafka.connect.data.', 'K.') -%}
    {%- set named = tidemark._type_of(short, tidemark._semantic_types(), none) -%}
    {%- set parameters = schema.get('parameters') or {} -%}
    {%- set source = parameters.get('__debezium.source.column.type', '') | upper -%}
    {%- if named -%}
        {{ return({'encoding': named[0], 'type': named[1]}) }}
    {%- elif schema.get('name') == 'org.apache.kafka.connect.data.Decimal' -%}
        {%- set scale = parameters.get('scale', 0) | int -%}
        {{ return({
            'encoding': 'decimal_bytes:' ~ scale,
            'type': tidemark._decimal_type(parameters.get('connect.decimal.precision', 38) | int, scale),
        }) }}
    {%- elif schema['type'] == 'int64' and tidemark._is_unsigned_bigint(source) -%}
        {#- `bigint.unsigned.handling.mode` is long -#}
        {{ return({'encoding': 'unsigned', 'type': 'decimal(20,0)'}) }}
    {%- elif schema['type'] == 'array' -%}
        {%- set item = tidemark._connect_type(schema['items']) -%}
        {{ return({'encoding': 'array:' ~ item['encoding'], 'type': 'array<' ~ item['type'] ~ '>'}) }}
    {%- elif schema['type'] == 'string' and source in tidemark._binary_types() -%}
        {{ return({'encoding': 'hex', 'type': 'binary'}) }}
    {%- elif schema['type'] == 'string' and (
        source.split(' ')[0].split('(')[0] in ['NUMERIC', 'DECIMAL', 'DEC', 'FIXED']
        or source == 'NUMBER' and '__debezium.source.column.scale' in parameters
    ) -%}
        {#- Oracle's NUMBER without a scale holds any -#}
        {{ return({'encoding': 'number', 'type': tidemark._decimal_type(
            parameters.get('__debezium.source.column.length', 0) | int,
            parameters.get('__debezium.source.column.scale', 0) | int,
        )}) }}
    {%- endif -%}
    {%- set plain = {
        'int8': ('number', 'tinyint'), 'int16': ('number', 'smallint'), 'int32': ('number', 'int'),
        'int64': ('number', 'bigint'), 'float': ('number', 'float'), 'float32': ('number', 'float'),
        'double': ('number', 'double'), 'float64': ('number', 'double'), 'boolean': ('boolean', 'boolean'),
        'string': ('text', 'string'), 'bytes': ('base64', 'binary'), 'map': ('json', 'string'),
        'struct': ('json', 'string'),
    }.get(schema['type'], ('auto', 'string')) -%}
    {{ return({'encoding': plain[0], 'type': plain[1]}) }}
{%- endmacro -%}

{#- Encodings and types by the names of Kafka Connect schemas; D. stands for io.debezium., K. for org.apache.kafka.connect.data. -#}
{%- macro _semantic_types() -%}
    {{ return([
        ('days', 'date', 'D.time.Date K.Date'),
        ('millis', 'timestamp_ntz', 'D.time.Timestamp K.Timestamp'),
        ('micros', 'timestamp_ntz', 'D.time.MicroTimestamp'),
        ('nanos', 'timestamp_ntz', 'D.time.NanoTimestamp'),
        ('iso', 'timestamp', 'D.time.ZonedTimestamp'),
        ('iso', 'date', 'D.time.IsoDate'),
        ('iso', 'timestamp_ntz', 'D.time.IsoTimestamp'),
        ('iso', 'string', 'D.time.IsoTime D.time.ZonedTime'),
        ('time_millis', 'string', 'D.time.Time K.Time'),
        ('time_micros', 'string', 'D.time.MicroTime'),
        ('time_nanos', 'string', 'D.time.NanoTime'),
        ('number', 'int', 'D.time.Year'),
        ('number', 'bigint', 'D.time.MicroDuration D.time.NanoDuration'),
        ('text', 'string', 'D.time.Interval D.data.Json D.data.Xml D.data.Uuid D.data.Enum D.data.EnumSet D.data.Ltree'),
        ('decimal_struct', 'string', 'D.data.VariableScaleDecimal'),
        ('base64', 'binary', 'D.data.Bits'),
    ]) }}
{%- endmacro -%}

{#- Source types whose strings are bytes in hexadecimal (`binary.handling.mode=hex`). -#}
{%- macro _binary_types() -%}
    {{return(['BYTEA', 'BLOB', 'TINYBLOB', 'MEDIUMBLOB', 'LONGBLOB', 'BINARY', 'VARBINARY', 'RAW', 'LONG RAW', 'IMAGE']) }}
{%- endmacro -%}

{#- The decimal that holds every value of a source's, string where there is none or the source sets no limit. -#}
{%- macro _decimal_type(precision, scale) -%}
    {#- a source's scale may be negative, or more than its precision -#}
    {%- set places = [scale, 0] | max -%}
    {%- set digits = [precision - [scale, 0] | min, places] | max -%}
    {{ return('decimal(' ~ digits ~ ',' ~ places ~ ')' if precision > 0 and digits <= 38 else 'string') }}
{%- endmacro -%}

{#- A parsed JSON value as the text that from_json() gives for it. -#}
{%- macro _json_text(value) -%}
    {%- if value is none or value is string -%}{{ return(value) }}{%- endif -%}
    {%- if value is boolean -%}{{ return('true' if value else 'false') }}{%- endif -%}
    {%- if value is number -%}{{ return(value | string) }}{%- endif -%}
    {{ return(value | tojson) }}
{%- endmacro -%}
