{#- The canonical text of a value by its Spark type, NULL for NULL: what is hashed (docs block `hash_recipe`).
    It does not depend on ANSI mode, the session time zone, the order of a map or the width of a number's
    type. -#}
{%- macro canonical_text_expr(expression, data_type) -%}
    {{ return(tidemark._canonical_text(expression, data_type, 1, expression)) }}
{%- endmacro -%}

{#- `depth` numbers the lambda variables, `column` is what an error names. -#}
{%- macro _canonical_text(expression, data_type, depth, column) -%}
    {%- set type = data_type | trim -%}
    {%- set base = type.split('<')[0].split('(')[0].split(' ')[0] | lower -%}
    {%- set x = expression -%}

    {%- if base == 'string' and 'collate' in type | lower -%}
        {{ return("collate(" ~ x ~ ", 'UTF8_BINARY')") }}
    {%- elif base in ['string', 'char', 'varchar', 'character'] -%}
        {{ return(x) }}
    {%- elif base in [
        'boolean', 'tinyint', 'byte', 'smallint', 'short', 'int', 'integer', 'bigint', 'long',
        'date', 'timestamp_ntz', 'interval', 'void',
    ] -%}
        {{ return('cast(' ~ x ~ ' as string)') }}
    {%- elif base in ['timestamp', 'timestamp_ltz'] -%}
        {{ return('cast(unix_micros(' ~ x ~ ') as string)') }}
    {%- elif base == 'binary' -%}
        {{ return('hex(' ~ x ~ ')') }}
    {%- elif base in ['decimal', 'dec', 'numeric'] -%}
        {{ return(tidemark._decimal_text(x, type)) }}
    {%- elif base == 'double' -%}
        {{ return(tidemark._double_text(x, x)) }}
    {%- elif base in ['float', 'real'] -%}
        {{ return(tidemark._double_text(x, 'cast(' ~ x ~ ' as double)')) }}
    {%- elif base in ['array', 'map', 'struct'] and '<' in type and type.endswith('>') -%}
        {%- set inner = type[type.index('<') + 1:-1] -%}
        {%- set parts = tidemark._type_parts(inner) -%}
        {%- if base == 'array' and parts | length == 1 -%}
            {%- set item = 'x' ~ depth -%}
            {%- set text = tidemark._canonical_text(item, parts[0], depth + 1, column) -%}
            {%- set texts = x if text == item else 'transform(' ~ x ~ ', ' ~ item ~ ' -> ' ~ text ~ ')' -%}
            {{ return("concat('[', concat_ws('', " ~ tidemark._items_text(texts, depth) ~ "), if(" ~ x
                ~ " is null, null, ']'))") }}
        {%- elif base == 'map' and parts | length == 2 -%}
            {%- set item = 'x' ~ depth -%}
            {%- set entry = 'array('
                ~ tidemark._canonical_text(item ~ '.key', parts[0], depth + 1, column) ~ ', '
                ~ tidemark._canonical_text(item ~ '.value', parts[1], depth + 1, column) ~ ')' -%}
            {%- set entries = 'transform(map_entries(' ~ x ~ '), ' ~ item ~ " -> concat_ws('', "
                ~ tidemark._items_text(entry, depth + 1) ~ '))' -%}
            {{ return("concat('<', concat_ws('', array_sort(" ~ entries ~ ")), if(" ~ x
                ~ " is null, null, '>'))") }}
        {%- elif base == 'struct' and not tidemark.is_shortened(type) -%}
            {%- set names, texts = [], [] -%}
            {%- for field in tidemark._struct_fields(inner) -%}
                {%- do names.append(tidemark._name_literal(field['name'])) -%}
                {%- do texts.append(tidemark._canonical_text(
                    x ~ '.' ~ tidemark.quote_identifier(field['name']), field['type'], depth, column
                )) -%}
            {%- endfor -%}
            {%- if not texts -%}{{ return("if(" ~ x ~ " is null, null, '{}')") }}{%- endif -%}
            {%- set t, i = 't' ~ depth, 'i' ~ depth -%}
            {{ return(
                "concat('{', concat_ws('', transform(array(" ~ texts | join(', ') ~ '), (' ~ t ~ ', ' ~ i
                    ~ ') -> concat(array('
                ~ names | join(', ') ~ ')[' ~ i ~ '], octet_length(' ~ t ~ "), ':', " ~ t ~ '))), if(' ~ x
                    ~ " is null, null, '}'))"
            ) }}
        {%- endif -%}
    {%- endif -%}

    {%- do tidemark.raise_error('configuration',
        'cannot hash ' ~ column ~ ': a value of type ' ~ data_type ~ ' has no canonical text. '
        ~ 'Cast the column to another type in the model, or list it under meta.tidemark.ignore so that it '
        ~ 'is carried but not compared'
        ~ (' (Spark shortened the type: raise spark.sql.debug.maxToStringFields)'
            if tidemark.is_shortened(type) else '')
    ) -%}
{%- endmacro -%}

{#- Digits without an exponent from 0.000001 on, trailing zeros dropped; below it `1.5E-7`. Casting a decimal
    to string gives an exponent only outside ANSI mode, format_string in both. 0.0 and not 0, as
    decimal(38,38) has no digit before the point: compared with 0 it would be rounded. No abs(), which rounds
    to 34 digits: of 38 nines that is one too many, and the statement fails. -#}
{%- macro _decimal_text(x, type) -%}
    {%- set digits = type[type.index('(') + 1:-1].split(',') if '(' in type else ['10', '0'] -%}
    {%- set scale = digits[1] | trim | int if digits | length > 1 else 0 -%}
    {%- set plain = 'cast(' ~ x ~ ' as string)' -%}
    {%- set trimmed = "trim(trailing '.' from trim(trailing '0' from " ~ plain ~ '))' -%}
    {%- if scale == 0 -%}{{ return(plain) }}{%- endif -%}
    {%- if scale <= 6 -%}{{ return(trimmed) }}{%- endif -%}
    {{ return(
        'case when ' ~ x ~ " = 0.0 then '0' when " ~ x ~ ' >= 0.000001 or ' ~ x ~ ' <= -0.000001 then '
            ~ trimmed
        ~ ' when ' ~ x ~ " is not null then regexp_replace(format_string('%s', " ~ x
            ~ "), '[.]?0*E', 'E') end"
    ) }}
{%- endmacro -%}

{#- Whole numbers below 2^53 as digits (so 0.0 and -0.0 agree), all others exactly, in hexadecimal; NaN and
    Infinity by name. -#}
{%- macro _double_text(x, widened) -%}
    {{ return(
        'case when abs(' ~ x ~ ') < 9007199254740992d and ' ~ x ~ ' = rint(' ~ x ~ ') then cast(cast(' ~ x
            ~ ' as bigint) as string)'
        ~ ' when ' ~ x ~ " is not null then format_string('%a', " ~ widened ~ ') end'
    ) }}
{%- endmacro -%}

{#- Each text of an array as `<bytes>:<text>;`, NULL as `N;`. -#}
{%- macro _items_text(texts, depth) -%}
    {%- set t = 't' ~ depth -%}
    {{ return('transform(' ~ texts ~ ', ' ~ t ~ " -> coalesce(concat(octet_length(" ~ t ~ "), ':', " ~ t
        ~ ", ';'), 'N;'))") }}
{%- endmacro -%}

{#- `<bytes>:<name>` as a literal. -#}
{%- macro _name_literal(name) -%}
    {{ return(tidemark.string_literal(name.encode('utf-8') | length ~ ':' ~ name)) }}
{%- endmacro -%}

{#- The parts between the commas of a type's brackets, not those within inner brackets or back-ticks.
    `describe` does not quote field names, so a part without a colon is the first half of a name with a comma
    in it. -#}
{%- macro _type_parts(text) -%}
    {%- set state = namespace(depth=0, quoted=false, part='') -%}
    {%- set parts = [] -%}
    {%- for character in text -%}
        {%- if character == '`' and (state.quoted or not state.part | trim or state.part.startswith('`')) -%}
            {%- set state.quoted = not state.quoted -%}
        {%- elif not state.quoted and character in '<(' -%}
            {%- set state.depth = state.depth + 1 -%}
        {%- elif not state.quoted and character in '>)' -%}
            {%- set state.depth = state.depth - 1 -%}
        {%- endif -%}
        {%- if character == ',' and state.depth == 0 and not state.quoted -%}
            {%- do parts.append(state.part) -%}
            {%- set state.part = '' -%}
        {%- else -%}
            {%- set state.part = state.part ~ character -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if state.part | trim -%}{%- do parts.append(state.part) -%}{%- endif -%}
    {{ return(parts) }}
{%- endmacro -%}

{#- The fields of a struct type as a list of {name, type}. -#}
{%- macro _struct_fields(text) -%}
    {%- set fields = [] -%}
    {%- set state = namespace(pending='') -%}
    {%- for part in tidemark._type_parts(text) -%}
        {%- set field = tidemark._struct_field(state.pending ~ part) -%}
        {%- if field['type'] -%}
            {%- do fields.append(field) -%}
            {%- set state.pending = '' -%}
        {%- else -%}
            {%- set state.pending = state.pending ~ part ~ ',' -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(fields) }}
{%- endmacro -%}

{#- `name:type` as {name, type}, the name perhaps in back-ticks. A bare name may hold colons: it ends at the
    first colon that a type follows. -#}
{%- macro _struct_field(part) -%}
    {%- set text = part | trim -%}
    {%- if text.startswith('`') -%}
        {%- set pieces = text[1:].replace('``', '\x00').split('`') -%}
        {{ return({
            'name': pieces[0].replace('\x00', '`'),
            'type': pieces[1:] | join('`') | replace('\x00', '``') | trim(': ') if pieces | length > 1
                else '',
        }) }}
    {%- endif -%}
    {%- set pieces = text.split(':') -%}
    {%- set found = namespace(name=none, type='') -%}
    {%- for piece in pieces[1:] -%}
        {%- set word = piece.split('<')[0].split('(')[0].split(',')[0].split('`')[0] | trim | lower -%}
        {%- if not found.type and word.split(' ')[0] in tidemark._type_words() -%}
            {%- set found.name = pieces[:loop.index] | join(':') -%}
            {%- set found.type = pieces[loop.index:] | join(':') | trim -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({'name': found.name, 'type': found.type}) }}
{%- endmacro -%}

{%- macro _type_words() -%}
    {{ return([
        'string', 'char', 'varchar', 'character', 'boolean', 'tinyint', 'byte', 'smallint', 'short', 'int',
        'integer',
        'bigint', 'long', 'decimal', 'dec', 'numeric', 'float', 'real', 'double', 'date', 'timestamp',
        'timestamp_ltz',
        'timestamp_ntz', 'time', 'binary', 'interval', 'void', 'variant', 'object', 'geometry', 'geography',
        'array', 'map', 'struct',
    ]) }}
{%- endmacro -%}
