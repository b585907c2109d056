{#- What of a column (`path`, quoted) is to be altered that is to go from one type to a wider one: {added,
    widened}, types by path. -#}
{%- macro type_changes(path, from_type, to_type) -%}
    {%- set from_type, to_type = from_type | trim, to_type | trim -%}
    {%- set kind = tidemark._nested_kind(to_type) -%}
    {%- if from_type == to_type -%}{{ return({'added': {}, 'widened': {}}) }}{%- endif -%}
    {%- if not kind -%}{{ return({'added': {}, 'widened': {path: to_type}}) }}{%- endif -%}
    {%- set ours, theirs = from_type[from_type.index('<') + 1:-1], to_type[to_type.index('<') + 1:-1] -%}
    {%- if kind == 'array' -%}
        {{ return(tidemark.type_changes(path ~ '.element', ours, theirs)) }}
    {%- endif -%}
    {%- if kind == 'map' -%}{{ return(tidemark.type_changes(path ~ '.value', tidemark._type_parts(ours)[1],
        tidemark._type_parts(theirs)[1])) }}{%- endif -%}
    {%- set changes = {'added': {}, 'widened': {}} -%}
    {%- for field in tidemark._struct_fields(theirs) -%}
        {%- set known, inner = tidemark._field_named(tidemark._struct_fields(ours), field['name']),
            path ~ '.' ~ tidemark.quote_identifier(field['name']) -%}
        {%- if known -%}
            {%- for kind, types in tidemark.type_changes(inner, known['type'], field['type']).items() -%}
                {%- do changes[kind].update(types) -%}
            {%- endfor -%}
        {%- else -%}
            {%- do changes['added'].update({inner: field['type']}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(changes) }}
{%- endmacro -%}
