{#- The settings of a `materialized: shred` model, complete and judged: entities of one schema as a typed
    table. -#}
{%- macro shred_config(node=none) -%}
    {%- set node = node or model -%}
    {%- set cfg = adapter.call_function('tidemark.model.enriched.shred_settings', node,
        tidemark.lake_format(), tidemark.can('register_functions')) -%}
    {{ return(dict(cfg, target=tidemark._table_of(node))) }}
{%- endmacro -%}
