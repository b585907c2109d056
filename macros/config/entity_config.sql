{#- The settings of a `materialized: cdc` model, complete and judged; every macro below it takes the dict this
    returns. It reads a node, so that operations can read any entity's configuration from the graph. -#}
{%- macro entity_config(node=none) -%}
    {%- if not execute -%}{{ return({}) }}{%- endif -%}
    {%- set node = node or model -%}
    {%- set cfg = adapter.call_function('tidemark.model.entity.entity_settings', node, tidemark.lake_format())
        if tidemark.can('call_python')
        else tidemark._config_for_reading(node) -%}
    {{ return(dict(cfg, target=tidemark._table_of(node))) }}
{%- endmacro -%}

{#- The table of a model. -#}
{%- macro _table_of(node) -%}
    {{ return(api.Relation.create(database=node.get('database'), schema=node['schema'],
        identifier=node['alias'], type='table')) }}
{%- endmacro -%}

{#- What a reading needs of an entity where no Python can be called. Who loaded it has judged it. -#}
{%- macro _config_for_reading(node) -%}
    {%- set config = node['config'] -%}
    {%- set settings = (config.get('meta') or {}).get('tidemark') or {} -%}
    {%- set lists = {} -%}
    {%- for name, value in {
        'keys': config.get('unique_key'), 'ignore': settings.get('ignore'),
        'sensitive': settings.get('sensitive'),
        'sequence_by': settings.get('sequence_by'),
        'feed_images': settings.get('feed_images', ['change', 'pre', 'post']),
    }.items() -%}
        {%- do lists.update({name: [value] if value is string and value else value or []}) -%}
    {%- endfor -%}
    {%- if lists['sequence_by'] == ['_sequence_num'] and settings.get('format') != 'rows' -%}
        {%- do lists.update({'sequence_by': []}) -%}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for column in node['columns'].values() -%}
        {%- set meta = dict(column.get('meta') or {}, **((column.get('config') or {}).get('meta') or {})) -%}
        {%- do columns.append({'name': column['name'], 'settings': meta.get('tidemark') or {}}) -%}
    {%- endfor -%}
    {{ return(dict(
        lists, entity=node['alias'], relation=node['schema'] ~ '.' ~ node['alias'],
        extract=settings.get('extract'), columns=columns,
        file_format=config.get('file_format') or tidemark.lake_format(),
        on_tie=settings.get('on_tie', 'later'),
        hash=settings.get('hash', 'md5'), effective_from=settings.get('effective_from'),
        compare=tidemark._choice(settings.get('compare', true)),
        tracked=tidemark._choice(settings.get('track_history', true)),
    )) }}
{%- endmacro -%}

{#- A choice of columns as {all, include, exclude}. -#}
{%- macro _choice(value) -%}
    {%- set said = value | string | lower -%}
    {%- set named = value if value is mapping else {'include': [] if said in ['true', 'false'] else value} -%}
    {%- set choice = {'all': said == 'true' or 'exclude' in named} -%}
    {%- for side in ['include', 'exclude'] -%}
        {%- set names = named.get(side, []) -%}
        {%- do choice.update({side: ([names] if names is string else names) | map('lower') | list}) -%}
    {%- endfor -%}
    {{ return(choice) }}
{%- endmacro -%}

{%- macro is_chosen(chosen, name) -%}
    {{ return(name | lower in chosen['include']
        or (chosen['all'] and name | lower not in chosen['exclude'])) }}
{%- endmacro -%}

{#- Whether a column of an extract is compared, whether it is there or not. -#}
{%- macro is_compared(cfg, name) -%}
    {%- set others = (cfg['keys'] + cfg['ignore']) | map('lower') | list -%}
    {{ return(name | lower not in others and tidemark.is_chosen(cfg['compare'], name)) }}
{%- endmacro -%}
