{#- Columns of the files that the model does not yield, lower case; those of earlier loads stay among them. -#}
{%- macro left_out_columns(file_names, source_columns, recorded) -%}
    {%- set yielded = source_columns | map(attribute='name') | map('lower') | list -%}
    {%- set names = file_names | map('lower') | reject('in', yielded) | list -%}
    {{ return((((recorded or {}).get('left_out') or []) + names) | unique | reject('in', yielded) | list) }}
{%- endmacro -%}

{#- What a run tells of columns that it met for the first time: `short` for its line, `long` where there is more to say. On a first run
    only what JSON has beside the YAML is told, as nothing else chose to leave it out. -#}
{%- macro new_columns(cfg, plan, recorded) -%}
    {%- set short, long, undeclared = [], [], [] -%}
    {%- set declared = cfg['columns'] | map(attribute='name') | map('lower') | list -%}
    {%- set known = [] -%}
    {%- for column in (recorded or {}).get('columns') or [] -%}
        {%- do known.append(column.get('hash_name', column['name']) | lower) -%}
    {%- endfor -%}
    {%- for column in plan['columns'] if recorded and column.get('hash_name', column['name']) | lower not in known -%}
        {%- do short.append('new column ' ~ column['name']) -%}
        {%- if column['name'] | lower not in declared -%}
            {%- do undeclared.append('`' ~ column['name'] ~ '` (' ~ column['type'] ~ ')') -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if undeclared -%}
        {%- do long.append('new in the source and loaded from now on: ' ~ undeclared | join(', ')
            ~ '. Declare it in the YAML (another data_type needs a new log: --full-refresh)' ~ (', or name it under ignore' if cfg['extract'] != 'events' else '')) -%}
    {%- endif -%}
    {%- set before = (recorded or {}).get('left_out') -%}
    {%- set is_told = before is not none or (not recorded and cfg.get('format') == 'json') -%}
    {%- set left_out = plan['recorded'].get('left_out', []) | reject('in', before or []) | list if is_told else [] -%}
    {%- if left_out -%}
        {%- do short.append('not loaded: ' ~ left_out | join(', ')) -%}
        {%- do long.append(('new in the source' if recorded else 'in the source') ~ ' but not loaded: `' ~ left_out | join('`, `') ~ '`. '
            ~ ('Declare it in the YAML' if cfg['format'] == 'json' else 'Add it to the SELECT of the model') ~ ' to load it') -%}
    {%- endif -%}
    {{ return({'short': short, 'long': long}) }}
{%- endmacro -%}
