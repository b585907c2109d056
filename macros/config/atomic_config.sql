{#- The one reader of a `materialized: atomic` model's configuration: enriched events, de-duplicated and shredded. -#}
{%- macro atomic_config(node=none) -%}
    {%- if not execute -%}{{ return({}) }}{%- endif -%}
    {%- set node = node or model -%}
    {%- set config = node['config'] -%}
    {%- set errors = [] -%}
    {%- set settings = tidemark._settings(config, tidemark._atomic_settings(), errors) -%}
    {%- set cfg = tidemark._table_config(node, settings, errors) -%}
    {%- do cfg.update(tidemark._read_settings(settings, {
        'location': ('any', none), 'deduplicate': ('names', tidemark.deduplication_steps()),
        'fingerprint_ignore': ('names', tidemark.fingerprint_ignore()), 'manifest': ('any', none), 'engine': ('any', none),
    }, errors)) -%}
    {%- do cfg.update({
        'family': 'enriched',
        'manifest_ttl': tidemark._retention(settings.get('manifest_ttl', '180 days'), 'manifest_ttl', errors),
    }) -%}
    {%- do tidemark._check_atomic_config(cfg, errors) -%}
    {%- do tidemark._raise_config_errors(cfg['entity'], errors) -%}
    {%- do cfg.update({
        'looks_across': cfg['deduplicate'] | select('in', ['natural_cross_batch', 'synthetic_cross_batch']) | list | length > 0,
    }) -%}
    {{ return(cfg) }}
{%- endmacro -%}

{#- Every setting that may stand under meta.tidemark of such a model. -#}
{%- macro _atomic_settings() -%}
    {{ return(['location', 'deduplicate', 'fingerprint_ignore', 'manifest', 'manifest_ttl', 'on_reject', 'max_reject_fraction', 'rejects_retention', 'engine']) }}
{%- endmacro -%}

{#- The steps of de-duplication, in the order in which they are taken. -#}
{%- macro deduplication_steps() -%}
    {{ return(['natural_in_batch', 'natural_cross_batch', 'synthetic_in_batch', 'synthetic_cross_batch']) }}
{%- endmacro -%}

{#- Columns that a computed fingerprint leaves out by default: the event's id, what tells of its delivery (collector, enrichment,
    network) and what was looked up then. The same list is tidemark.shred.canonical.LEFT_OUT, with its reasons. -#}
{%- macro fingerprint_ignore() -%}
    {{ return([
        'event_id', 'event_fingerprint', 'etl_tstamp', 'etl_tags', 'v_etl', 'collector_tstamp', 'v_collector', 'dvce_sent_tstamp',
        'derived_tstamp', 'network_userid', 'user_ipaddress', 'geo_country', 'geo_region', 'geo_city', 'geo_zipcode', 'geo_latitude',
        'geo_longitude', 'geo_region_name', 'geo_timezone', 'ip_isp', 'ip_organization', 'ip_domain', 'ip_netspeed', 'derived_contexts',
        'tr_total_base', 'tr_tax_base', 'tr_shipping_base', 'ti_price_base',
    ]) }}
{%- endmacro -%}

{%- macro _check_atomic_config(cfg, errors) -%}
    {%- set names = tidemark.canonical_columns() | map(attribute='name') | list -%}
    {%- do tidemark._check_location(cfg['location'], errors) -%}
    {%- for step in cfg['deduplicate'] -%}
        {%- do tidemark._one_of('deduplicate', step, tidemark.deduplication_steps(), errors) -%}
    {%- endfor -%}
    {%- for name in cfg['fingerprint_ignore'] if name not in names -%}
        {%- do errors.append('fingerprint_ignore: `' ~ name ~ '` is no column of an enriched event' ~ tidemark._did_you_mean(name, names)) -%}
    {%- endfor -%}
    {%- for name in ['event_id', 'event_fingerprint'] if name not in cfg['fingerprint_ignore'] -%}
        {%- do errors.append('fingerprint_ignore must have `' ~ name ~ '`: a fingerprint tells events apart that share their id, and is computed where there is none') -%}
    {%- endfor -%}
    {%- for name in cfg['partition_by'] + cfg['cluster_by'] if name not in names + ['_commit_id'] -%}
        {%- do errors.append('partition_by or liquid_clustered_by: `' ~ name ~ '` is no column of atomic events' ~ tidemark._did_you_mean(name, names)) -%}
    {%- endfor -%}
    {%- if cfg['engine'] is not none -%}{%- do tidemark._one_of('engine', cfg['engine'], tidemark._engines(), errors) -%}{%- endif -%}
    {%- if cfg['manifest_ttl'] is none -%}{%- do errors.append("manifest_ttl must be a length of time such as '180 days'") -%}{%- endif -%}
    {%- if cfg['manifest'] is not none and (cfg['manifest'] is not string or not modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?', cfg['manifest'])) -%}
        {%- do errors.append('manifest must be the name of a table, or schema.table, found: ' ~ cfg['manifest']) -%}
    {%- endif -%}
{%- endmacro -%}

{#- What a table of enriched events or of their entities is made with, and where it is. -#}
{%- macro _table_config(node, settings, errors) -%}
    {%- set config = node['config'] -%}
    {%- set cfg = tidemark._place_config(node, errors) -%}
    {%- do cfg.update({
        'on_reject': settings.get('on_reject', 'quarantine'),
        'max_reject_fraction': settings.get('max_reject_fraction', 0.5),
        'retention': {'rejects': tidemark._retention(settings.get('rejects_retention'), 'rejects_retention', errors)},
        'description': node.get('description', '') if (config.get('persist_docs') or {}).get('relation') else '',
    }) -%}
    {%- do tidemark._one_of('on_reject', cfg['on_reject'], ['fail', 'quarantine'], errors) -%}
    {%- do tidemark._check_fraction('max_reject_fraction', cfg['max_reject_fraction'], errors) -%}
    {%- do tidemark._check_format(cfg['file_format'], errors) -%}
    {%- do tidemark._add_broken([
        (cfg['file_format'] == 'parquet', 'materialized: ' ~ config['materialized'] ~ ' needs file_format: delta or iceberg, found: parquet'),
        (cfg['file_format'] == 'iceberg' and cfg['cluster_by'], 'liquid_clustered_by needs file_format: delta, found: iceberg. Use partition_by'),
    ], errors) -%}
    {{ return(cfg) }}
{%- endmacro -%}
