{#- The one reader of a `materialized: feed` model's configuration. What it reads stands in its body. -#}
{%- macro feed_config() -%}
    {%- set config = model['config'] -%}
    {%- set errors = [] -%}
    {%- set settings = tidemark._settings(config, tidemark._feed_settings(), errors) -%}
    {%- set cfg = {
        'model': model['alias'],
        'relation': model['schema'] ~ '.' ~ model['alias'],
        'file_format': config.get('file_format') or tidemark.lake_format(),
        'buckets': settings.get('feed_buckets', 1),
        'retention': tidemark._retention(settings.get('feed_retention'), 'feed_retention', errors),
        'location_root': config.get('location_root'),
        'table_properties': config.get('tblproperties') or {},
        'description': model['description'] if (config.get('persist_docs') or {}).get('relation') else '',
    } -%}
    {%- do tidemark._check_format(cfg['file_format'], errors) -%}
    {%- do tidemark._check_place(config, errors) -%}
    {%- do tidemark._add_broken([
        (cfg['file_format'] == 'parquet', 'materialized: feed needs file_format: delta or iceberg, found: parquet'),
        (cfg['buckets'] is not integer or cfg['buckets'] is boolean or not 1 <= cfg['buckets'] <= 1024,
            'feed_buckets must be a whole number from 1 to 1024, found: ' ~ (cfg['buckets'] | tojson if cfg['buckets'] is string else cfg['buckets'])),
    ], errors) -%}
    {%- for name in ['partition_by', 'liquid_clustered_by'] if config.get(name) -%}
        {%- do errors.append(name ~ ' cannot be set: a feed is laid out by the date of the commit and by feed_buckets') -%}
    {%- endfor -%}
    {%- do tidemark._raise_config_errors(cfg['model'], errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- Every setting that may stand under meta.tidemark of such a model. -#}
{%- macro _feed_settings() -%}
    {{ return(['feed_buckets', 'feed_retention']) }}
{%- endmacro -%}
