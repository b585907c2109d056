{%- macro raise_no_date(cfg) -%}
    {%- do tidemark.raise_error('usage', cfg['entity'] ~ ': which business date? Give it with --vars \'{business_date: "2026-03-04"}\'') -%}
{%- endmacro -%}
