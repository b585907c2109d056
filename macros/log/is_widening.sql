{#- Whether a stored column can change from one type to the other in place: no value is lost, no hash changes (the canonical text of a
    number does not depend on its type), and the table format can do it. -#}
{%- macro is_widening(from_type, to_type, file_format) -%}
    {%- if file_format == 'parquet' -%}{{ return(false) }}{%- endif -%}
    {%- if file_format == 'iceberg' -%}{{ return(tidemark._is_promotion(from_type, to_type)) }}{%- endif -%}
    {%- set digits = {'tinyint': 3, 'smallint': 5, 'int': 10, 'bigint': 20} -%}
    {%- set whole = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- if from_type in whole and to_type in whole -%}
        {{ return(whole.index(from_type) < whole.index(to_type)) }}
    {%- elif to_type == 'double' -%}
        {{ return(from_type in ['float', 'tinyint', 'smallint', 'int']) }}
    {%- elif to_type.startswith('decimal(') -%}
        {%- set target = tidemark._precision_and_scale(to_type) -%}
        {%- if from_type in whole -%}
            {{ return(target[0] - target[1] >= digits[from_type]) }}
        {%- elif from_type.startswith('decimal(') -%}
            {%- set source = tidemark._precision_and_scale(from_type) -%}
            {{ return(target != source and target[1] >= source[1] and target[0] - target[1] >= source[0] - source[1]) }}
        {%- endif -%}
    {%- endif -%}
    {{ return(false) }}
{%- endmacro -%}

{#- The type that a stored column gets which is to hold `wanted`, at any depth: numbers that are wider, structs that have more fields. It is
    that of `known` with what is new, as fields are known by their names and those that are there keep their places. None where a value would be
    lost, a hash would change, or the table format cannot do it; a field that is NULL leaves a hash as it was. -#}
{%- macro wider_type(known, wanted, file_format) -%}
    {%- if tidemark.is_same_by_name(known, wanted) -%}{{ return(known) }}{%- endif -%}
    {%- set kind = tidemark._nested_kind(wanted) -%}
    {%- if not kind -%}{{ return(wanted if tidemark.is_widening(known, wanted, file_format) else none) }}{%- endif -%}
    {%- if kind != tidemark._nested_kind(known) or file_format == 'parquet' -%}{{ return(none) }}{%- endif -%}
    {%- set ours, theirs = known[known.index('<') + 1:-1], wanted[wanted.index('<') + 1:-1] -%}
    {%- if kind == 'array' -%}
        {%- set item = tidemark.wider_type(ours, theirs, file_format) -%}
        {{ return('array<' ~ item ~ '>' if item else none) }}
    {%- elif kind == 'map' -%}
        {%- set ours, theirs = tidemark._type_parts(ours), tidemark._type_parts(theirs) -%}
        {%- set value = tidemark.wider_type(ours[1] | trim, theirs[1] | trim, file_format) -%}
        {#- no format changes what the keys of maps are -#}
        {{ return('map<' ~ ours[0] ~ ',' ~ value ~ '>' if value and tidemark.is_same_by_name(ours[0] | trim, theirs[0] | trim) else none) }}
    {%- endif -%}
    {%- set ours, theirs, fields = tidemark._struct_fields(ours), tidemark._struct_fields(theirs), [] -%}
    {%- for field in ours -%}
        {%- set match = tidemark._field_named(theirs, field['name']) -%}
        {%- set type = tidemark.wider_type(field['type'], match['type'], file_format) if match else none -%}
        {%- if not type -%}{{ return(none) }}{%- endif -%}
        {%- do fields.append(field['name'] ~ ':' ~ type) -%}
    {%- endfor -%}
    {%- for field in theirs if not tidemark._field_named(ours, field['name']) -%}{%- do fields.append(field['name'] ~ ':' ~ field['type']) -%}{%- endfor -%}
    {{ return('struct<' ~ fields | join(',') ~ '>') }}
{%- endmacro -%}

{#- What of a column (`path`, quoted) is to be altered that is to go from one type to a wider one: {added, widened}, types by path. -#}
{%- macro type_changes(path, from_type, to_type) -%}
    {%- set from_type, to_type = from_type | trim, to_type | trim -%}
    {%- set kind = tidemark._nested_kind(to_type) -%}
    {%- if from_type == to_type -%}{{ return({'added': {}, 'widened': {}}) }}{%- endif -%}
    {%- if not kind -%}{{ return({'added': {}, 'widened': {path: to_type}}) }}{%- endif -%}
    {%- set ours, theirs = from_type[from_type.index('<') + 1:-1], to_type[to_type.index('<') + 1:-1] -%}
    {%- if kind == 'array' -%}{{ return(tidemark.type_changes(path ~ '.element', ours, theirs)) }}{%- endif -%}
    {%- if kind == 'map' -%}{{ return(tidemark.type_changes(path ~ '.value', tidemark._type_parts(ours)[1], tidemark._type_parts(theirs)[1])) }}{%- endif -%}
    {%- set changes = {'added': {}, 'widened': {}} -%}
    {%- for field in tidemark._struct_fields(theirs) -%}
        {%- set known, inner = tidemark._field_named(tidemark._struct_fields(ours), field['name']), path ~ '.' ~ tidemark.quote_identifier(field['name']) -%}
        {%- if known -%}
            {%- for kind, types in tidemark.type_changes(inner, known['type'], field['type']).items() -%}{%- do changes[kind].update(types) -%}{%- endfor -%}
        {%- else -%}
            {%- do changes['added'].update({inner: field['type']}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro -%}

{#- What Iceberg widens: numbers within their family, decimals by digits before the point. It stores small whole numbers as int. -#}
{%- macro _is_promotion(from_type, to_type) -%}
    {%- if from_type.startswith('decimal(') and to_type.startswith('decimal(') -%}
        {%- set source, target = tidemark._precision_and_scale(from_type), tidemark._precision_and_scale(to_type) -%}
        {{ return(target[0] > source[0] and target[1] == source[1]) }}
    {%- endif -%}
    {%- set steps = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {{ return((from_type, to_type) == ('float', 'double') or (
        from_type in steps and to_type in steps and steps.index(from_type) < steps.index(to_type)
    )) }}
{%- endmacro -%}

{%- macro _precision_and_scale(decimal_type) -%}
    {%- set parts = decimal_type[8:-1].split(',') -%}
    {{ return([parts[0] | int, parts[1] | int]) }}
{%- endmacro -%}
