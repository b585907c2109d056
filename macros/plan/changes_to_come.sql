{#- What a load changes about the columns of a table, `name` by what it holds, that has those of `present`:
    {added, widened, left}. New ones that are there already have no value yet, as the run that made them came
    to no commit: of another type, or in the wrong table as they are sensitive or are not, they are `left`.
    -#}
{%- macro changes_to_come(cfg, roles, name, present) -%}
    {%- set types = tidemark.by_name(present) -%}
    {%- set added, left, widened = [], [], [] -%}
    {%- for column in roles['added'] -%}
        {%- set belongs = column['sensitive'] == (name == 'sensitive') -%}
        {%- set twice = name == 'staging' and (column['key'] or not roles['keyed']) -%}
        {%- for stored in [column['name']] + (['_before_' ~ column['name']] if twice else []) -%}
            {%- set found = types.get(stored | lower) -%}
            {%- set fits = belongs and found
                and tidemark.is_kept_as(found['type'], column['type'], cfg['file_format']) -%}
            {%- if found and not fits -%}{%- do left.append(found) -%}{%- endif -%}
            {%- if belongs and not fits -%}
                {%- do added.append(dict({'name': stored, 'type': column['type']},
                    **({'description': column['description']} if stored == column['name'] else {}))) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for column in tidemark.widened_columns(roles) if column['sensitive'] == (name == 'sensitive') -%}
        {%- for stored in [column['name'], '_before_' ~ column['name']] if stored | lower in types
            and not tidemark.is_kept_as(types[stored | lower]['type'], column['type'], cfg['file_format']) -%}
            {%- do widened.append({'name': stored, 'from': types[stored | lower]['type'],
                'type': column['type']}) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return({'added': added, 'widened': widened, 'left': left}) }}
{%- endmacro -%}

{#- The columns whose type is wider than the one that is stored. -#}
{%- macro widened_columns(roles) -%}
    {%- set widened = [] -%}
    {%- for column in roles['columns']
        if column['recorded_type'] and column['recorded_type'] != column['type'] -%}
        {%- do widened.append(column) -%}{%- endfor -%}
    {{ return(widened) }}
{%- endmacro -%}

{#- Whether a table has a type in this way: Iceberg has no whole numbers shorter than int, in structs, arrays
    and maps neither. -#}
{%- macro is_kept_as(found, type, file_format) -%}
    {{ return(tidemark.kept_type(found, file_format) == tidemark.kept_type(type, file_format)) }}
{%- endmacro -%}

{#- The type that a table has where it was made with this one. -#}
{%- macro kept_type(type, file_format) -%}
    {{ return(modules.re.sub('\\b(tinyint|smallint)\\b', 'int', type) if file_format == 'iceberg'
        else type) }}
{%- endmacro -%}
