{#- The one reader of a `materialized: shred` model's configuration: entities of one schema as a typed table. -#}
{%- macro shred_config(node=none) -%}
    {%- set node = node or model -%}
    {%- set config = node['config'] -%}
    {%- set errors = [] -%}
    {%- set settings = tidemark._settings(config, tidemark._shred_settings(), errors) -%}
    {%- do tidemark._check_data_types(tidemark._declared_columns(node), errors) -%}
    {%- set columns = [] -%}
    {%- for column in tidemark._declared_columns(node) if column['data_type'] and column['name'] | lower not in ['schema', 'hierarchy', '_commit_id'] -%}
        {%- set given = column['settings'] -%}
        {%- for name in given if name != 'property' -%}
            {%- do errors.append('column ' ~ column['name'] ~ ': meta.tidemark.' ~ name ~ ' is not a setting' ~ tidemark._did_you_mean(name, ['property'])) -%}
        {%- endfor -%}
        {%- if 'property' in given and (given['property'] is not string or not given['property'] | trim) -%}
            {%- do errors.append('column ' ~ column['name'] ~ ': meta.tidemark.property must be the name of a property, found: ' ~ given['property']) -%}
        {%- endif -%}
        {%- do columns.append({
            'name': column['name'], 'type': column['data_type'], 'not_null': column['not_null'], 'description': column['description'],
            'property': given.get('property'),
        }) -%}
    {%- endfor -%}
    {%- do tidemark._check_column_meta(node, 'property', errors) -%}
    {%- set cfg = tidemark._table_config(node, settings, errors) -%}
    {%- do cfg.update({'columns': columns, 'registry': settings.get('registry')}) -%}
    {%- if columns -%}
        {%- set names = columns | map(attribute='name') | map('lower') | list + ['schema', 'hierarchy'] -%}
        {%- do errors.extend(tidemark.misplaced_layout(cfg, names, 'the model does not declare')) -%}
    {%- endif -%}
    {%- do tidemark._add_broken([
        ('registry' in settings and (cfg['registry'] is not string or not cfg['registry'] | trim), 'registry must be a folder of JSON Schemas, found: ' ~ cfg['registry']),
        (not columns and not cfg['registry'], 'columns with a data_type are required, or meta.tidemark.registry: a folder of JSON Schemas'),
    ], errors) -%}
    {%- for column in columns if column['name'] | lower in tidemark.reserved_columns() -%}
        {%- do errors.append('column `' ~ column['name'] ~ '` is reserved: give it another name, and set meta.tidemark.property to the property that fills it') -%}
    {%- endfor -%}
    {%- if cfg['registry'] and not tidemark.can('register_functions') -%}
        {%- do errors.append('registry needs `type: tidemark` with `method: session` in the profile: data is validated in Python; or leave it out and name the columns') -%}
    {%- endif -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- Every setting that may stand under meta.tidemark of such a model. -#}
{%- macro _shred_settings() -%}
    {{ return(['registry', 'on_reject', 'max_reject_fraction', 'rejects_retention']) }}
{%- endmacro -%}
