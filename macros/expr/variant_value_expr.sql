{#- A variant as a value of a Spark type, {value, failed}: `failed` is true where the JSON has something that
    is not of the type, at any depth, or none where that cannot be. Spark's own cast gives NULL for it, and
    cuts 1.5 to an int of 1. -#}
{%- macro variant_value_expr(v, data_type, depth=1) -%}
    {%- set type = data_type | trim -%}
    {%- set base = type.split('<')[0].split('(')[0].split(' ')[0] | lower -%}
    {%- set text = 'try_variant_get(' ~ v ~ ", '$', 'string')" -%}
    {%- if base in ['string', 'varchar', 'char'] -%}
        {#- Delta and Iceberg refuse the whole statement for a text that is too long. -#}
        {%- set length = type.split('(')[1].split(')')[0] | trim if '(' in type and base != 'string'
            else none -%}
        {{ return({'value': text, 'failed': 'length(' ~ text ~ ') > ' ~ length if length else none}) }}
    {%- elif base == 'variant' -%}
        {{ return({'value': v, 'failed': none}) }}
    {%- elif base in ['array', 'map', 'struct'] and '<' in type and type.endswith('>') -%}
        {%- set inner = type[type.index('<') + 1:-1] -%}
        {%- set kind = 'array<variant>' if base == 'array' else 'map<string, variant>' -%}
        {%- set opened = 'try_variant_get(' ~ v ~ ", '$', '" ~ kind ~ "')" -%}
        {%- set shut = 'not ' ~ tidemark.is_json_null_expr(v) ~ ' and ' ~ opened ~ ' is null' -%}
        {%- set x = 'x' ~ depth -%}
        {%- if base == 'array' -%}
            {%- set item = tidemark.variant_value_expr(x, inner, depth + 1) -%}
            {{ return({
                'value': 'transform(' ~ opened ~ ', ' ~ x ~ ' -> ' ~ item['value'] ~ ')',
                'failed': shut
                    ~ (' or coalesce(exists(' ~ opened ~ ', ' ~ x ~ ' -> coalesce(' ~ item['failed']
                    ~ ', false)), false)' if item['failed'] else ''),
            }) }}
        {%- elif base == 'map' -%}
            {%- set item = tidemark.variant_value_expr(x, tidemark._type_parts(inner)[1], depth + 1) -%}
            {{ return({
                'value': 'transform_values(' ~ opened ~ ', (k' ~ depth ~ ', ' ~ x ~ ') -> ' ~ item['value']
                    ~ ')',
                'failed': shut
                    ~ (' or coalesce(exists(map_values(' ~ opened ~ '), ' ~ x ~ ' -> coalesce('
                    ~ item['failed'] ~ ', false)), false)' if item['failed'] else ''),
            }) }}
        {%- endif -%}
        {%- set fields, failed = [], [shut] -%}
        {%- for field in tidemark._struct_fields(inner) -%}
            {%- set path = tidemark.string_literal('$' ~ tidemark._member_path(field['name'])) -%}
            {%- set item = tidemark.variant_value_expr('try_variant_get(' ~ v ~ ', ' ~ path ~ ", 'variant')",
                field['type'], depth) -%}
            {%- do fields.append(tidemark.string_literal(field['name']) ~ ', ' ~ item['value']) -%}
            {%- if item['failed'] -%}
                {%- do failed.append('coalesce(' ~ item['failed'] ~ ', false)') -%}
            {%- endif -%}
        {%- endfor -%}
        {{ return({
            'value': 'if(' ~ opened ~ ' is null, null, named_struct(' ~ fields | join(', ') ~ '))',
            'failed': failed | join(' or '),
        }) }}
    {%- endif -%}
    {%- set value = 'try_cast(' ~ tidemark.dated_text_expr(text, base) ~ ' as ' ~ type ~ ')' -%}
    {{ return({'value': value, 'failed': text ~ ' is not null and ' ~ value ~ ' is null'}) }}
{%- endmacro -%}

{#- Whether a variant is missing or JSON's null. -#}
{%- macro is_json_null_expr(variant) -%}
    {{ return('(' ~ variant ~ ' is null or is_variant_null(' ~ variant ~ '))') }}
{%- endmacro -%}

{#- A member in the path of a variant, whatever its name. -#}
{%- macro _member_path(name) -%}
    {{ return("['" ~ name | replace("\\", "\\\\") | replace("'", "\\'") ~ "']") }}
{%- endmacro -%}
