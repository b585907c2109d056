{#- The one reader of a `materialized: scd2` model's configuration. Its entity is the cdc model that it refers to. -#}
{%- macro scd2_config() -%}
    {%- set config = model['config'] -%}
    {%- set errors = [] -%}
    {%- set settings = tidemark._settings(config, tidemark._scd2_settings(), errors) -%}
    {%- set cfg = {
        'model': model['alias'],
        'relation': model['schema'] ~ '.' ~ model['alias'],
        'file_format': config.get('file_format') or tidemark.lake_format(),
        'valid_from': settings.get('valid_from') or '_valid_from',
        'partition_by': tidemark._as_list(config.get('partition_by'), 'partition_by', errors),
        'cluster_by': tidemark._as_list(config.get('liquid_clustered_by'), 'liquid_clustered_by', errors),
        'location_root': config.get('location_root'),
        'table_properties': config.get('tblproperties') or {},
        'description': model['description'] if (config.get('persist_docs') or {}).get('relation') else '',
    } -%}
    {%- do cfg.update({'entity': tidemark._scd2_entity(settings.get('entity'), errors)}) -%}

    {%- do tidemark._check_format(cfg['file_format'], errors) -%}
    {%- do tidemark._check_place(config, errors) -%}
    {%- do tidemark._add_broken([
        ('valid_from' in settings and (cfg['valid_from'] is not string or not cfg['valid_from'] | trim),
            'valid_from must be the name of the column that intervals begin with, found: ' ~ cfg['valid_from']),
        (cfg['file_format'] == 'parquet',
            'materialized: scd2 keeps intervals by MERGE, which needs file_format: delta or iceberg (found: parquet); '
            ~ 'materialized: table or view serve every format'),
        (cfg['file_format'] == 'iceberg' and cfg['cluster_by'], 'liquid_clustered_by needs file_format: delta, found: iceberg. Use partition_by'),
        (cfg['partition_by'] and cfg['cluster_by'], 'partition_by and liquid_clustered_by conflict: choose one'),
    ], errors) -%}
    {%- do tidemark._raise_config_errors(cfg['model'], errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- Every setting that may stand under meta.tidemark of such a model. -#}
{%- macro _scd2_settings() -%}
    {{ return(['entity', 'valid_from']) }}
{%- endmacro -%}

{#- The relation of the one cdc model that this model refers to, or of the one named. -#}
{%- macro _scd2_entity(wanted, errors) -%}
    {%- set referred = {} -%}
    {%- for id in model['depends_on']['nodes'] if id in graph.nodes -%}
        {%- set node = graph.nodes[id] -%}
        {%- if node['config']['materialized'] == 'cdc' -%}{%- do referred.update({node['name']: node}) -%}{%- endif -%}
    {%- endfor -%}
    {%- if wanted is not none and wanted is not string -%}
        {%- do errors.append('meta.tidemark.entity must be the name of a model, found: ' ~ wanted) -%}
        {{ return(none) }}
    {%- elif wanted is none and referred | length == 1 -%}
        {%- set node = referred.values() | first -%}
    {%- elif wanted in referred -%}
        {%- set node = referred[wanted] -%}
    {%- else -%}
        {%- if wanted is not none -%}
            {%- do errors.append(
                'meta.tidemark.entity names `' ~ wanted ~ '`, which is not a cdc model that this model refers to'
                ~ (tidemark._did_you_mean(wanted, referred.keys() | list) if referred else '')
            ) -%}
        {%- elif referred -%}
            {%- do errors.append(
                'the model refers to several cdc models (' ~ referred.keys() | sort | join(', ')
                ~ '): say with meta.tidemark.entity whose intervals it keeps'
            ) -%}
        {%- else -%}
            {%- do errors.append("the model refers to no cdc model: its body is a SELECT from tidemark.scd2(ref('…')) of one") -%}
        {%- endif -%}
        {{ return(none) }}
    {%- endif -%}
    {{ return(api.Relation.create(database=node['database'], schema=node['schema'], identifier=node['alias'])) }}
{%- endmacro -%}
