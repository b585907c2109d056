{#- The settings of a `materialized: feed` model, complete and judged. What it reads stands in its body. -#}
{%- macro feed_config() -%}
    {{ return(adapter.call_function('tidemark.model.derived.feed_settings', model, tidemark.lake_format())) }}
{%- endmacro -%}
