{#- A value of one Spark type as another, {value, failed}: `failed` is true where some of it cannot be, at any
    depth, and none where that cannot happen. Fields of structs are matched by name: one that the value lacks
    is NULL, one that the type lacks is left out. Spark's own cast goes by position, and refuses another
    number of fields. -#}
{%- macro cast_by_name_expr(v, from_type, to_type, depth=1) -%}
    {%- set from_type, to_type = from_type | trim, to_type | trim -%}
    {%- if from_type == to_type -%}{{ return({'value': v, 'failed': none}) }}{%- endif -%}
    {%- set from_kind, to_kind = tidemark._nested_kind(from_type), tidemark._nested_kind(to_type) -%}
    {%- if not to_kind -%}
        {%- set value = tidemark._cast_plain(v, from_type, to_type) -%}
        {{ return({'value': value, 'failed': v ~ ' is not null and ' ~ value ~ ' is null'}) }}
    {%- elif from_type == 'variant' -%}
        {{ return(tidemark.variant_value_expr(v, to_type, depth)) }}
    {%- elif from_type == 'string' -%}
        {%- set value = tidemark._decode(v, 'auto', to_type, depth) -%}
        {{ return({'value': value, 'failed': v ~ ' is not null and ' ~ value ~ ' is null'}) }}
    {%- elif from_kind != to_kind -%}
        {{ return({'value': 'cast(null as ' ~ tidemark.quoted_type(to_type) ~ ')',
            'failed': v ~ ' is not null'}) }}
    {%- endif -%}
    {%- set from_inner, to_inner = from_type[from_type.index('<') + 1:-1],
        to_type[to_type.index('<') + 1:-1] -%}
    {%- set x = 'x' ~ depth -%}
    {%- if to_kind == 'array' -%}
        {%- set item = tidemark.cast_by_name_expr(x, from_inner, to_inner, depth + 1) -%}
        {{ return({
            'value': 'transform(' ~ v ~ ', ' ~ x ~ ' -> ' ~ item['value'] ~ ')',
            'failed': 'coalesce(exists(' ~ v ~ ', ' ~ x ~ ' -> coalesce(' ~ item['failed']
                ~ ', false)), false)' if item['failed'] else none,
        }) }}
    {%- elif to_kind == 'map' -%}
        {%- set from_parts, to_parts = tidemark._type_parts(from_inner), tidemark._type_parts(to_inner) -%}
        {%- set key = tidemark.cast_by_name_expr(x ~ '.key', from_parts[0] | trim, to_parts[0] | trim,
            depth + 1) -%}
        {%- set item = tidemark.cast_by_name_expr(x ~ '.value', from_parts[1] | trim, to_parts[1] | trim,
            depth + 1) -%}
        {%- set failed = [] -%}
        {%- for one in [key, item] if one['failed'] -%}
            {%- do failed.append('coalesce(exists(map_entries(' ~ v ~ '), ' ~ x ~ ' -> coalesce('
                ~ one['failed'] ~ ', false)), false)') -%}
        {%- endfor -%}
        {%- if key['failed'] -%}
            {#- two keys that become one -#}
            {%- do failed.append('coalesce(size(array_distinct(transform(map_entries(' ~ v ~ '), ' ~ x
                ~ ' -> ' ~ key['value'] ~ '))) < size(' ~ v ~ '), false)') -%}
        {%- endif -%}
        {%- set failed = failed | join(' or ') or none -%}
        {%- set value = 'map_from_entries(transform(map_entries(' ~ v ~ '), ' ~ x ~ " -> named_struct('key', "
            ~ key['value'] ~ ", 'value', " ~ item['value'] ~ ')))' -%}
        {{ return({'value': 'if(' ~ failed ~ ', null, ' ~ value ~ ')' if key['failed'] else value,
            'failed': failed}) }}
    {%- endif -%}
    {%- set fields, failed = [], [] -%}
    {%- for field in tidemark._struct_fields(to_inner) -%}
        {%- set source = tidemark._field_named(tidemark._struct_fields(from_inner), field['name']) -%}
        {%- if source -%}
            {%- set item = tidemark.cast_by_name_expr(v ~ '.' ~ tidemark.quote_identifier(source['name']),
                source['type'], field['type'], depth) -%}
        {%- else -%}
            {%- set item = {'value': 'cast(null as ' ~ tidemark.quoted_type(field['type']) ~ ')',
                'failed': none} -%}
        {%- endif -%}
        {%- do fields.append(tidemark.string_literal(field['name']) ~ ', ' ~ item['value']) -%}
        {%- if item['failed'] -%}
            {%- do failed.append('coalesce(' ~ item['failed'] ~ ', false)') -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return({
        'value': 'if(' ~ v ~ ' is null, null, named_struct(' ~ fields | join(', ') ~ '))',
        'failed': failed | join(' or ') or none,
    }) }}
{%- endmacro -%}

{#- A cast between kinds that Spark refuses, by way of text: what it cannot read is NULL, and a
    reject. -#}
{%- macro _cast_plain(v, from_type, to_type) -%}
    {%- set number = 'tinyint|smallint|int|bigint|float|double|decimal.*' -%}
    {%- set allowed = {
        number: number ~ '|string|boolean|timestamp', 'boolean': number ~ '|string',
        'date': 'timestamp|timestamp_ntz|string',
        'timestamp|timestamp_ntz': 'date|timestamp|timestamp_ntz|string|' ~ number, 'string|variant': '.*',
        '.*': 'string',
    } -%}
    {%- for from_types, to_types in allowed.items()
        if modules.re.fullmatch(from_types, from_type) and modules.re.fullmatch(to_types, to_type) -%}
        {{ return('try_cast(' ~ (tidemark.dated_text_expr(v, to_type) if from_type == 'string' else v)
            ~ ' as ' ~ to_type ~ ')') }}
    {%- endfor -%}
    {{ return('try_cast(cast(' ~ v ~ ' as string) as ' ~ to_type ~ ')') }}
{%- endmacro -%}

{#- array, map or struct; none of a type that holds no other. -#}
{%- macro _nested_kind(type) -%}
    {%- set kind = type.split('<')[0] | trim | lower -%}
    {{ return(kind
        if kind in ['array', 'map', 'struct'] and type.endswith('>') and not tidemark.is_shortened(type)
        else none) }}
{%- endmacro -%}

{#- The field of a name, in other case if there is none in this. -#}
{%- macro _field_named(fields, name) -%}
    {%- for field in fields if field['name'] == name -%}{{ return(field) }}{%- endfor -%}
    {%- for field in fields if field['name'] | lower == name | lower -%}{{ return(field) }}{%- endfor -%}
    {{ return(none) }}
{%- endmacro -%}

{#- A type as Spark shows it, with its fields quoted, as Spark reads it. -#}
{%- macro quoted_type(type) -%}
    {%- set kind = tidemark._nested_kind(type) -%}
    {%- if not kind -%}{{ return(type) }}{%- endif -%}
    {%- set inner, parts = type[type.index('<') + 1:-1], [] -%}
    {%- if kind == 'struct' -%}
        {%- for field in tidemark._struct_fields(inner) -%}
            {%- do parts.append(tidemark.quote_identifier(field['name']) ~ ':'
                ~ tidemark.quoted_type(field['type'])) -%}
        {%- endfor -%}
    {%- else -%}
        {%- for part in tidemark._type_parts(inner) -%}
            {%- do parts.append(tidemark.quoted_type(part | trim)) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(kind ~ '<' ~ parts | join(',') ~ '>') }}
{%- endmacro -%}
