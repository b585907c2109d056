{#- A value of a change event in the given type, NULL where the text cannot be read as one: never a rounded,
    cut or wrapped value. The text is what from_json() gives for a map<string,string>: strings unescaped,
    numbers digit for digit, nested values as their JSON. -#}
{%- macro decode_expr(text, encoding, data_type) -%}
    {%- set value = tidemark._decode(text, encoding, data_type | trim, 1) -%}
    {%- if text | length > 100 and value | length > 2000 -%}
        {#- a long text many times over makes queries that take longer to plan than to run -#}
        {{ return(tidemark._let('t0', text, tidemark._decode('t0', encoding, data_type | trim, 1))) }}
    {%- endif -%}
    {{ return(value) }}
{%- endmacro -%}

{#- The names of the encodings that a user may give a column; `decimal_bytes` takes a scale
    (`decimal_bytes:2`) and `array` the encoding of its items (`array:iso`). -#}
{%- macro encodings() -%}
    {{ return([
        'auto', 'text', 'number', 'boolean', 'json',
        'days', 'seconds', 'millis', 'micros', 'nanos',
        'time_millis', 'time_micros', 'time_nanos',
        'iso', 'base64', 'hex', 'decimal_bytes', 'decimal_struct', 'unsigned', 'array',
    ]) }}
{%- endmacro -%}

{#- `depth` numbers the lambda variables. -#}
{%- macro _decode(text, encoding, type, depth) -%}
    {%- set name = encoding.split(':')[0] -%}
    {%- set argument = encoding[name | length + 1:] -%}
    {%- if name in ['auto', 'text', 'number', 'boolean', 'json'] and not argument -%}
        {{ return(tidemark._decode_auto(text, type, depth)) }}
    {%- elif name in ['days', 'seconds', 'millis', 'micros', 'nanos'] and not argument -%}
        {{ return(tidemark._decode_epoch(text, name, type)) }}
    {%- elif name in ['time_millis', 'time_micros', 'time_nanos'] and not argument -%}
        {{ return(tidemark._decode_time(text, name, type)) }}
    {%- elif name == 'iso' and not argument -%}
        {{ return(tidemark._decode_iso(text, type)) }}
    {%- elif name == 'base64' and not argument -%}
        {{ return(tidemark._decode_base64(text, type)) }}
    {%- elif name == 'hex' and not argument -%}
        {{ return(tidemark._decode_hex(text, type)) }}
    {%- elif name == 'decimal_bytes' and modules.re.match('^-?[0-9]{1,4}$', argument) -%}
        {{ return(tidemark._decode_decimal_bytes(text, argument | int, type, depth)) }}
    {%- elif name == 'decimal_struct' and not argument -%}
        {{ return(tidemark._decode_decimal_struct(text, type, depth)) }}
    {%- elif name == 'unsigned' and not argument -%}
        {{ return(tidemark._decode_unsigned(text, type, depth)) }}
    {%- elif name == 'array' and argument -%}
        {{ return(tidemark._decode_array(text, argument, type, depth)) }}
    {%- endif -%}
    {%- do tidemark.raise_error('configuration',
        "there is no encoding '" ~ encoding ~ "'. Use one of " ~ tidemark.encodings() | join(', ')
        ~ ' (decimal_bytes with a scale, decimal_bytes:2; array with the encoding of its items, array:iso)'
    ) -%}
{%- endmacro -%}

{#- The word of a type that stands before its parameters, one for all spellings. -#}
{%- macro _base_type(type) -%}
    {%- set base = type.split('<')[0].split('(')[0].split(' ')[0] | lower -%}
    {{ return({
        'char': 'string', 'varchar': 'string', 'character': 'string', 'byte': 'tinyint', 'short': 'smallint',
        'integer': 'int', 'long': 'bigint', 'real': 'float', 'dec': 'decimal', 'numeric': 'decimal',
        'timestamp_ltz': 'timestamp',
    }.get(base, base)) }}
{%- endmacro -%}

{#- The body for a value that is worked out once, in the body a variable. -#}
{%- macro _let(variable, value, body) -%}
    {{ return('transform(array(' ~ value ~ '), ' ~ variable ~ ' -> ' ~ body ~ ')[0]') }}
{%- endmacro -%}

{#- Scalars by what their text looks like, nested values from JSON. -#}
{%- macro _decode_auto(text, type, depth) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- if base == 'string' -%}
        {{ return(text) }}
    {%- elif base == 'boolean' -%}
        {{ return('case when ' ~ text ~ " in ('true', '1') then true when " ~ text
            ~ " in ('false', '0') then false end") }}
    {%- elif base == 'decimal' -%}
        {{ return(tidemark._text_to_decimal(text, type)) }}
    {%- elif base in ['double', 'float'] -%}
        {{ return(tidemark._text_to_double(text, base)) }}
    {%- elif base == 'date' -%}
        {{ return(
            'case when ' ~ text ~ " rlike '^-?[0-9]+$' then " ~ tidemark._decode_epoch(text, 'days', type)
            ~ ' else ' ~ tidemark._decode_iso(text, type) ~ ' end'
        ) }}
    {%- elif base in ['timestamp', 'timestamp_ntz'] -%}
        {#- from 10^17 on nanoseconds, from 10^14 on microseconds; what is less could be seconds, millis or
            micros -#}
        {{ return(
            'case when ' ~ text ~ " rlike '^-?[1-9][0-9]{17,18}$' then "
                ~ tidemark._decode_epoch(text, 'nanos', type)
            ~ ' when ' ~ text ~ " rlike '^-?[1-9][0-9]{14,16}$' then "
                ~ tidemark._decode_epoch(text, 'micros', type)
            ~ ' else ' ~ tidemark._decode_iso(text, type) ~ ' end'
        ) }}
    {%- elif base == 'binary' -%}
        {#- hexadecimal digits without a mark are Base64, too -#}
        {{ return(
            'case when startswith(' ~ text ~ ', ' ~ tidemark.string_literal('\\x') ~ ') then '
                ~ tidemark._decode_hex(text, type)
            ~ ' when not ' ~ tidemark._is_hex_expr(text) ~ ' then ' ~ tidemark._decode_base64(text, type)
                ~ ' end'
        ) }}
    {%- elif base == 'array' -%}
        {{ return(tidemark._decode_array(text, 'auto', type, depth)) }}
    {%- elif base == 'map' -%}
        {{ return(tidemark._decode_map(text, type, depth)) }}
    {%- elif base == 'struct' -%}
        {{ return(tidemark._decode_struct(text, type, depth)) }}
    {%- elif base == 'variant' -%}
        {{ return('try_parse_json(' ~ text ~ ')') }}
    {%- endif -%}
    {#- whole numbers: try_cast checks the range and takes neither fraction nor exponent, ANSI mode or not -#}
    {{ return('try_cast(' ~ text ~ ' as ' ~ type ~ ')') }}
{%- endmacro -%}

{#- An exact decimal: digits beyond the scale may only be zeros. With an exponent (BigDecimal.toString() has
    them) the places that count are the fraction's, less the mantissa's trailing zeros, less the exponent. -#}
{%- macro _text_to_decimal(text, type) -%}
    {%- set digits = type[type.index('(') + 1:-1].split(',') if '(' in type else ['10', '0'] -%}
    {%- set scale = digits[1] | trim | int if digits | length > 1 else 0 -%}
    {%- set places = 'length(regexp_extract(' ~ text ~ ", '[.]([0-9]+)', 1)) - length(regexp_extract(replace("
        ~ text
        ~ ", '.', ''), '(0*)[eE]', 1)) - int(regexp_extract(" ~ text ~ ", '[eE](.*)', 1))" -%}
    {{ return(
        'case when ' ~ text ~ " rlike '^[-+]?[0-9]*([.][0-9]{0," ~ scale ~ "}0*)?$' or "
        ~ text ~ " rlike '^[-+]?[0-9]+([.][0-9]*)?[eE][-+]?[0-9]{1,3}$' and (" ~ text
            ~ " rlike '^[-+]?[0.]+[eE]' or "
        ~ places ~ ' <= ' ~ scale ~ ') then try_cast(' ~ text ~ ' as ' ~ type ~ ') end'
    ) }}
{%- endmacro -%}

{#- A number, NaN or an infinity by its name; a number that is too large for the type is not an infinity but
    NULL. -#}
{%- macro _text_to_double(text, base) -%}
    {%- set value = 'try_cast(' ~ text ~ ' as ' ~ base ~ ')' -%}
    {{ return(
        'case when ' ~ text ~ " in ('NaN', 'Infinity', '-Infinity') or "
        ~ text ~ " rlike '^[-+]?[0-9]+([.][0-9]*)?([eE][-+]?[0-9]+)?$' and abs(" ~ value ~ ') < ' ~ base
            ~ "('Infinity') then "
        ~ value ~ ' end'
    ) }}
{%- endmacro -%}

{#- A count of units since 1970-01-01, NULL beyond the years 0001 to 9999 (PostgreSQL's infinity is such a
    number). As a date only if it is midnight; as a number as it is. As a string in ISO form, also beyond
    those years (`+10000-01-01`, `-0043-03-15`), `infinity` or `-infinity`, or the digits of what no calendar
    of Spark's reaches. -#}
{%- macro _decode_epoch(text, unit, type) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- set n = 'try_cast(' ~ text ~ ' as bigint)' -%}
    {%- set per_day = {'days': 1, 'seconds': 86400, 'millis': 86400000, 'micros': 86400000000,
        'nanos': 86400000000000}[unit] -%}
    {%- if unit == 'nanos' -%}
        {%- set in_range = n ~ ' is not null' -%}
        {%- set micros = 'bigint(floor(' ~ n ~ ' / 1000bd))' -%}
    {%- else -%}
        {%- set in_range = n ~ ' between ' ~ -719162 * per_day ~ ' and ' ~ (2932897 * per_day - 1) -%}
        {%- set micros = n if unit == 'micros' else n ~ ' * ' ~ (86400000000 // per_day) -%}
    {%- endif -%}

    {%- if base == 'string' -%}
        {{ return(tidemark._epoch_text(text, unit, n, micros)) }}
    {%- elif base == 'date' and unit == 'days' -%}
        {{ return('case when ' ~ in_range ~ ' then date_from_unix_date(int(' ~ n ~ ')) end') }}
    {%- elif base == 'date' -%}
        {{ return(
            'case when ' ~ in_range ~ ' and ' ~ n ~ ' % ' ~ per_day ~ ' = 0 then date_from_unix_date(int('
            ~ n ~ ' div ' ~ per_day ~ ')) end'
        ) }}
    {%- elif base == 'timestamp' -%}
        {{ return('case when ' ~ in_range ~ ' then timestamp_micros(' ~ micros ~ ') end') }}
    {%- elif base == 'timestamp_ntz' -%}
        {{ return('case when ' ~ in_range ~ ' then ' ~ tidemark._micros_to_ntz(micros) ~ ' end') }}
    {%- elif base in ['bigint', 'int', 'smallint', 'tinyint', 'decimal'] -%}
        {{ return(tidemark._decode_auto(text, type, 1)) }}
    {%- endif -%}
    {{ return('cast(null as ' ~ type ~ ')') }}
{%- endmacro -%}

{#- A count as ISO text. PostgreSQL's infinities are these counts, those of its dates in a snapshot and in the
    log; the greatest of all is what Debezium makes of a later time. -#}
{%- macro _epoch_text(text, unit, n, micros) -%}
    {%- set infinities = {
        'days': [[-622191234, -2147472692], [-625821272, -2147472691]],
        'millis': [[9223372036825200], [-9223372036832400]],
    }.get(unit, [[9223372036825200000], [-9223372036832400000]]) -%}
    {%- if unit == 'days' -%}
        {%- set iso = 'string(date_from_unix_date(int(' ~ n ~ ')))' -%}
        {%- set limit = 2147483647 -%}
    {%- else -%}
        {%- set iso = "replace(string(" ~ tidemark._micros_to_ntz(micros) ~ "), ' ', 'T')" -%}
        {%- set limit = {'seconds': 9223372036854, 'millis': 9223372036854775}.get(unit,
            9223372036854775806) -%}
    {%- endif -%}
    {{ return(
        'case when ' ~ n ~ ' in (' ~ infinities[0] | join(', ') ~ ") then 'infinity' when " ~ n ~ ' in ('
            ~ infinities[1] | join(', ')
        ~ ") then '-infinity' when " ~ n ~ ' between ' ~ -limit ~ ' and ' ~ limit ~ ' then ' ~ iso
        ~ ' when ' ~ n ~ ' is not null then ' ~ text ~ ' end'
    ) }}
{%- endmacro -%}

{#- Microseconds since 1970-01-01 as a wall time, whatever the session's time zone. -#}
{%- macro _micros_to_ntz(micros) -%}
    {{ return('timestampadd(microsecond, ' ~ micros ~ ", timestamp_ntz'1970-01-01 00:00:00')") }}
{%- endmacro -%}

{#- A time or a duration below 1000 hours as `[-]HH:MM:SS[.ffffff]`, or as the number it is. -#}
{%- macro _decode_time(text, encoding, type) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- if base in ['bigint', 'int', 'smallint', 'tinyint', 'decimal'] -%}
        {{ return(tidemark._decode_auto(text, type, 1)) }}
    {%- endif -%}
    {%- if base != 'string' -%}{{ return('cast(null as ' ~ type ~ ')') }}{%- endif -%}
    {%- set n = 'try_cast(' ~ text ~ ' as bigint)' -%}
    {%- set second = {'time_millis': 1000, 'time_micros': 1000000, 'time_nanos': 1000000000}[encoding] -%}
    {%- set micros = {
        'time_millis': 'abs(' ~ n ~ ') * 1000',
        'time_micros': 'abs(' ~ n ~ ')',
        'time_nanos': 'abs(' ~ n ~ ') div 1000',
    }[encoding] -%}
    {%- set seconds = 'abs(' ~ n ~ ') div ' ~ second -%}
    {{ return(
        'case when ' ~ n ~ ' between ' ~ -3599999 * second ~ ' and ' ~ 3599999 * second
            ~ " then format_string('%s%02d:%02d:%02d%s', if("
        ~ n ~ " < 0, '-', ''), " ~ seconds ~ ' div 3600, ' ~ seconds ~ ' div 60 % 60, ' ~ seconds
            ~ ' % 60, if('
        ~ micros ~ " % 1000000 = 0, '', concat('.', lpad(string(" ~ micros ~ " % 1000000), 6, '0')))) end"
    ) }}
{%- endmacro -%}

{#- ISO text: a date (as one also midnight in UTC, or with a Z behind it), or a date and time with up to nine
    places, which are cut to six. Without an offset it is UTC. NULL beyond the years 0001 to 9999. -#}
{%- macro _decode_iso(text, type) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- set date = '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}' -%}
    {%- if base == 'string' -%}
        {{ return(text) }}
    {%- elif base == 'date' -%}
        {{ return(
            'case when ' ~ text ~ " rlike '" ~ date
                ~ "([T ]00:00(:00([.]0{1,9})?)?)?(Z|[-+]00(:?00)?)?$' then try_cast(left("
            ~ text ~ ', 10) as date) end'
        ) }}
    {%- elif base not in ['timestamp', 'timestamp_ntz'] -%}
        {{ return('cast(null as ' ~ type ~ ')') }}
    {%- endif -%}
    {%- set time = '([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[-+][0-9]{2}(:?[0-9]{2})?)?|Z)?$' -%}
    {#- in full, as Spark wants seconds before an offset and takes the session's time zone without one -#}
    {%- set full = "regexp_replace(regexp_replace(regexp_replace(" ~ text
        ~ ", '^(.{10})Z?$', '$1T00:00'), '^(.{16})(?!:)', '$1:00'), '^(.{10}[^-+Z]+)$', '$1Z')" -%}
    {%- set value = 'try_cast(' ~ full ~ ' as timestamp)' -%}
    {%- set in_range = text ~ " rlike '" ~ date ~ time ~ "' and " ~ value
        ~ " between timestamp'0001-01-01T00:00:00Z' and timestamp'9999-12-31T23:59:59.999999Z'" -%}
    {%- if base == 'timestamp_ntz' -%}{%- set value = tidemark._micros_to_ntz('unix_micros(' ~ value
        ~ ')') -%}{%- endif -%}
    {{ return('case when ' ~ in_range ~ ' then ' ~ value ~ ' end') }}
{%- endmacro -%}

{#- Base64 in the common or the URL-safe alphabet, with or without padding; the empty text is no bytes. -#}
{%- macro _decode_base64(text, type) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- if base == 'string' -%}{{ return(text) }}{%- endif -%}
    {%- if base != 'binary' -%}{{ return('cast(null as ' ~ type ~ ')') }}{%- endif -%}
    {{ return('try_to_binary(translate(' ~ text ~ ", '-_', '+/'), 'base64')") }}
{%- endmacro -%}

{#- True for bytes in hexadecimal, of which nothing tells that they are not Base64. -#}
{%- macro _is_hex_expr(text) -%}
    {{ return(text ~ " rlike '^([0-9A-Fa-f]{2})+$'") }}
{%- endmacro -%}

{#- Pairs of hexadecimal digits, also behind PostgreSQL's `\x`; the empty text is no bytes. -#}
{%- macro _decode_hex(text, type) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- if base == 'string' -%}{{ return(text) }}{%- endif -%}
    {%- if base != 'binary' -%}{{ return('cast(null as ' ~ type ~ ')') }}{%- endif -%}
    {#- unhex() is NULL for other characters, but takes an odd digit -#}
    {%- set digits = 'if(startswith(' ~ text ~ ', ' ~ tidemark.string_literal('\\x') ~ '), substring(' ~ text
        ~ ', 3), ' ~ text ~ ')' -%}
    {{ return('case when length(' ~ text ~ ') % 2 = 0 then unhex(' ~ digits ~ ') end') }}
{%- endmacro -%}

{#- A decimal whose unscaled value is base64 of big-endian two's complement, by its plain digits. -#}
{%- macro _decode_decimal_bytes(text, scale, type, depth) -%}
    {{ return(tidemark._decode_auto_once(tidemark._plain_decimal(text, scale, depth), type, depth)) }}
{%- endmacro -%}

{#- A whole number that is never negative, in digits or as decimal_bytes:0. No text is both: Base64 of such a
    number begins with one of A to f, as its first bit is not set. Negative digits are what its 64 bits are to
    a writer who knows no number without a sign. -#}
{%- macro _decode_unsigned(text, type, depth) -%}
    {{ return(
        'case when ' ~ text ~ " rlike '^[0-9]+$' then " ~ tidemark._decode_auto(text, type, depth)
        ~ ' when ' ~ text ~ " rlike '^-[1-9][0-9]*$' then "
        ~ tidemark._decode_auto_once('string(try_cast(' ~ text ~ ' as bigint) + 18446744073709551616bd)',
            type, depth)
        ~ ' when ' ~ text ~ " rlike '^[A-Za-f]' then " ~ tidemark._decode_decimal_bytes(text, 0, type, depth)
            ~ ' end'
    ) }}
{%- endmacro -%}

{#- The same where the scale comes with each value: io.debezium.data.VariableScaleDecimal. -#}
{%- macro _decode_decimal_struct(text, type, depth) -%}
    {%- set value = 'get_json_object(' ~ text ~ ", '$.value')" -%}
    {%- set scale = "try_cast(get_json_object(" ~ text ~ ", '$.scale') as int)" -%}
    {{ return(tidemark._decode_auto_once(tidemark._plain_decimal(value, scale, depth), type, depth)) }}
{%- endmacro -%}

{#- A number's digits in the type; the digits take some working out, so they are worked out once. -#}
{%- macro _decode_auto_once(digits, type, depth) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- if base == 'string' -%}
        {{ return(digits) }}
    {%- elif base not in ['tinyint', 'smallint', 'int', 'bigint', 'decimal', 'double', 'float'] -%}
        {{ return('cast(null as ' ~ type ~ ')') }}
    {%- elif base in ['tinyint', 'smallint', 'int', 'bigint'] -%}
        {#- 12.00 is a whole number -#}
        {%- set whole = tidemark._let('n' ~ depth, digits,
            tidemark._text_to_decimal('n' ~ depth, 'decimal(38,0)')) -%}
        {{ return('try_cast(' ~ whole ~ ' as ' ~ type ~ ')') }}
    {%- endif -%}
    {{ return(tidemark._let('n' ~ depth, digits, tidemark._decode_auto('n' ~ depth, type, depth + 1))) }}
{%- endmacro -%}

{#- Up to 16 bytes of two's complement as digits, NULL where there are more than 38 of them: conv() reads 64
    bits without a sign, so a negative number is turned into its complement, which is put together from two
    halves. Spark's minus sign before a decimal cuts it to 34 digits, its subtraction does not. -#}
{%- macro _plain_decimal(text, scale, depth) -%}
    {%- set h, f, u, k = 'h' ~ depth, 'f' ~ depth, 'u' ~ depth, 'k' ~ depth -%}
    {%- set bytes = 'hex(' ~ tidemark._decode_base64(text, 'binary') ~ ')' -%}
    {%- set flipped = "lpad(if(" ~ h ~ " >= '8', translate(" ~ h
        ~ ", '0123456789ABCDEF', 'FEDCBA9876543210'), " ~ h ~ "), 32, '0')" -%}
    {%- set magnitude = 'cast(conv(left(' ~ f ~ ', 16), 16, 10) as decimal(20,0)) * 18446744073709551616bd'
        ~ ' + cast(conv(right(' ~ f ~ ', 16), 16, 10) as decimal(20,0))' -%}
    {#- 10^38, and one less, in hexadecimal: nothing that is worked out may have more than 38 digits -#}
    {%- set in_range = f ~ ' < if(' ~ h
        ~ " >= '8', '4B3B4CA85A86C47A098A223FFFFFFFFF', '4B3B4CA85A86C47A098A224000000000')" -%}
    {%- set unscaled = tidemark._let(h, bytes,
        'case when length(' ~ h ~ ') between 2 and 32 then ' ~ tidemark._let(
        f, flipped, 'case when ' ~ in_range ~ ' then string(if(' ~ h ~ " >= '8', -1bd - (" ~ magnitude ~ '), '
            ~ magnitude ~ ')) end'
    ) ~ ' end') -%}
    {%- if scale is number and scale == 0 -%}{{ return(unscaled) }}{%- endif -%}
    {%- set digits = "ltrim('-', " ~ u ~ ')' -%}
    {%- set padded = 'lpad(' ~ digits ~ ', greatest(length(' ~ digits ~ '), ' ~ k ~ " + 1), '0')" -%}
    {%- set plain = 'case when ' ~ k ~ ' = 0 or ' ~ k ~ " < 0 and " ~ u ~ " = '0' then " ~ u
        ~ ' when ' ~ k ~ ' between -38 and -1 then concat(' ~ u ~ ", repeat('0', -" ~ k ~ ')) when ' ~ k
        ~ " between 1 and 1000 then concat(if(" ~ u ~ " < '0', '-', ''), left(" ~ padded ~ ', length('
            ~ padded ~ ') - ' ~ k
        ~ "), '.', right(" ~ padded ~ ', ' ~ k ~ ')) end' -%}
    {{ return(tidemark._let(u, unscaled, tidemark._let(k, scale, plain))) }}
{%- endmacro -%}

{#- A JSON array by the encoding of its items, NULL as a whole where an item cannot be read. -#}
{%- macro _decode_array(text, encoding, type, depth) -%}
    {%- set base = tidemark._base_type(type) -%}
    {%- if base == 'string' -%}{{ return(text) }}{%- endif -%}
    {%- if base != 'array' -%}{{ return('cast(null as ' ~ type ~ ')') }}{%- endif -%}
    {%- set item_type = type[type.index('<') + 1:-1] | trim -%}
    {%- set a, x = 'a' ~ depth, 'x' ~ depth -%}
    {%- set items = 'case when ' ~ text ~ " like '[%]' then from_json(" ~ text ~ ", 'array<string>') end" -%}
    {%- set item = tidemark._decode(x, encoding, item_type, depth + 1) -%}
    {%- if item == x -%}{{ return(items) }}{%- endif -%}
    {{ return(tidemark._let(
        a, items, 'case when forall(' ~ a ~ ', ' ~ x ~ ' -> ' ~ x ~ ' is null or ' ~ item
            ~ ' is not null) then transform('
        ~ a ~ ', ' ~ x ~ ' -> ' ~ item ~ ') end'
    )) }}
{%- endmacro -%}

{#- A JSON object as a map, NULL as a whole where a key or value cannot be read. -#}
{%- macro _decode_map(text, type, depth) -%}
    {%- set parts = tidemark._type_parts(type[type.index('<') + 1:-1]) -%}
    {%- set m, x, y = 'm' ~ depth, 'x' ~ depth, 'y' ~ depth -%}
    {%- set map = tidemark._json_object(text) -%}
    {%- set key = tidemark._decode(x, 'auto', parts[0] | trim, depth + 1) -%}
    {%- set value = tidemark._decode(y, 'auto', parts[1] | trim, depth + 1) -%}
    {%- if key == x and value == y -%}{{ return(map) }}{%- endif -%}
    {{ return(tidemark._let(
        m, map, 'case when forall(map_keys(' ~ m ~ '), ' ~ x ~ ' -> ' ~ key
            ~ ' is not null) and forall(map_values(' ~ m
        ~ '), ' ~ y ~ ' -> ' ~ y ~ ' is null or ' ~ value
            ~ ' is not null) then map_from_arrays(transform(map_keys(' ~ m
        ~ '), ' ~ x ~ ' -> ' ~ key ~ '), transform(map_values(' ~ m ~ '), ' ~ y ~ ' -> ' ~ value ~ ')) end'
    )) }}
{%- endmacro -%}

{#- A JSON object as a struct, NULL as a whole where a field cannot be read; a field that is not there is
    NULL. -#}
{%- macro _decode_struct(text, type, depth) -%}
    {%- set m = 'm' ~ depth -%}
    {%- set fields, readable = [], [m ~ ' is not null'] -%}
    {%- for field in tidemark._struct_fields(type[type.index('<') + 1:-1]) -%}
        {%- set name = tidemark.string_literal(field['name']) -%}
        {%- set raw = m ~ '[' ~ name ~ ']' -%}
        {%- set value = tidemark._decode(raw, 'auto', field['type'], depth + 1) -%}
        {%- do fields.append(name ~ ', ' ~ value) -%}
        {%- if value != raw -%}{%- do readable.append('(' ~ raw ~ ' is null or ' ~ value
            ~ ' is not null)') -%}{%- endif -%}
    {%- endfor -%}
    {{ return(tidemark._let(
        m, tidemark._json_object(text),
        'case when ' ~ readable | join(' and ') ~ ' then named_struct(' ~ fields | join(', ') ~ ') end'
    )) }}
{%- endmacro -%}

{#- The members of a JSON object as text. -#}
{%- macro _json_object(text) -%}
    {{ return('case when ' ~ text ~ " like '{%}' then from_json(" ~ text ~ ", 'map<string,string>') end") }}
{%- endmacro -%}
