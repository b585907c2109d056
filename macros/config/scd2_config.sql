{#- The settings of a `materialized: scd2` model, complete and judged. Its entity is the cdc model that it
    refers to. -#}
{%- macro scd2_config() -%}
    {%- set cfg = adapter.call_function('tidemark.model.derived.scd2_settings', model, tidemark.lake_format(),
        graph.nodes) -%}
    {%- set of = cfg['entity'] -%}
    {{ return(dict(cfg,
        entity=api.Relation.create(database=of['database'], schema=of['schema'], identifier=of['alias']))) }}
{%- endmacro -%}
