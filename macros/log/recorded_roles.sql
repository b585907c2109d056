{#- The roles that applying a commit needs, from what the commit recorded. Where current may be made
    of it, with the constraints and descriptions that `cfg` declares. -#}
{%- macro recorded_roles(recorded, cfg=none) -%}
    {%- set declared = tidemark.by_name(cfg['columns'] if cfg else []) -%}
    {%- set columns = [] -%}
    {%- for column in recorded['columns'] if not column.get('gone') -%}
        {%- set said = declared.get(column['name'] | lower, {}) -%}
        {%- do columns.append({
            'name': column['name'], 'hash_name': column.get('hash_name'), 'type': column['type'],
            'sensitive': column['sensitive'],
            'key': column['role'] == 'key', 'compared': column['role'] == 'compared',
            'ignored': column['role'] == 'ignored',
            'not_null': (said.get('not_null', false)
                or (cfg is not none and column['role'] == 'key' and cfg['null_keys'] == 'reject'))
                and tidemark.is_held(recorded, column),
            'description': said.get('description') or '', 'compare_as': column.get('compare_as'),
        }) -%}
    {%- endfor -%}
    {%- set keys = columns | selectattr('key') | list -%}
    {%- set gone = recorded['columns'] | selectattr('gone', 'defined') | selectattr('gone') | list -%}
    {{ return({
        'columns': columns,
        'keys': keys,
        'keyed': keys | length > 0,
        'stored': columns | rejectattr('sensitive') | list,
        'sensitive': columns | selectattr('sensitive') | list,
        'compared': columns | selectattr('compared') | list,
        'ignored': columns | selectattr('ignored') | list,
        'flow': 'events' if recorded['extract'] == 'events' else none,
        'gone': gone | rejectattr('sensitive') | list,
        'gone_sensitive': gone | selectattr('sensitive') | list,
        'sequence_by': recorded.get('sequence_by', []) | length,
        'on_tie': recorded.get('on_tie', 'content'),
        'sequence_type': recorded.get('sequence_type'),
    }) }}
{%- endmacro -%}

{#- The configuration with what a commit was made with in place of what the YAML says now. -#}
{%- macro recorded_cfg(cfg, recorded) -%}
    {{ return(dict(cfg,
        extract=recorded['extract'], tag_unchanged=recorded['tag_unchanged'],
        soft_delete=recorded['soft_delete'], file_format=recorded['file_format']
    )) }}
{%- endmacro -%}

{#- Columns by their names in lower case. -#}
{%- macro by_name(columns) -%}
    {{ return(dict(zip(columns | map(attribute='name') | map('lower'), columns))) }}
{%- endmacro -%}

{#- Whether a column may be NOT NULL in current, by what the last commit recorded (none before the first): so
    is one that has been so in every commit of the log, and no other, or current could not be made of the log
    again. Earlier versions did not record it. -#}
{%- macro is_held(recorded, column) -%}
    {%- if not recorded -%}{{ return(true) }}{%- endif -%}
    {{ return(column is not none and not column.get('gone', false)
        and (not recorded.get('marks_not_null') or column.get('not_null', false))) }}
{%- endmacro -%}
