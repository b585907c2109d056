{#- The settings of a `materialized: atomic` model, complete and judged: enriched events, de-duplicated and
    shredded. -#}
{%- macro atomic_config(node=none) -%}
    {%- if not execute -%}{{ return({}) }}{%- endif -%}
    {%- set node = node or model -%}
    {%- set cfg = adapter.call_function('tidemark.model.enriched.atomic_settings', node,
        tidemark.lake_format()) -%}
    {{ return(dict(cfg, target=tidemark._table_of(node))) }}
{%- endmacro -%}

{#- The steps of de-duplication, in the order in which they are taken. -#}
{%- macro deduplication_steps() -%}
    {{ return(['natural_in_batch', 'natural_cross_batch', 'synthetic_in_batch', 'synthetic_cross_batch']) }}
{%- endmacro -%}

{#- Columns that a computed fingerprint leaves out by default: the event's id, what tells of its delivery
    (collector, enrichment, network) and what was looked up then. The same list is
    tidemark.shred.enriched.LEFT_OUT, with its reasons. -#}
{%- macro fingerprint_ignore() -%}
    {{ return([
        'event_id', 'event_fingerprint', 'etl_tstamp', 'etl_tags', 'v_etl', 'collector_tstamp', 'v_collector',
        'dvce_sent_tstamp',
        'derived_tstamp', 'network_userid', 'user_ipaddress', 'geo_country', 'geo_region', 'geo_city',
        'geo_zipcode', 'geo_latitude',
        'geo_longitude', 'geo_region_name', 'geo_timezone', 'ip_isp', 'ip_organization', 'ip_domain',
        'ip_netspeed', 'derived_contexts',
        'tr_total_base', 'tr_tax_base', 'tr_shipping_base', 'ti_price_base',
    ]) }}
{%- endmacro -%}
