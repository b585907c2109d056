{#- Current as compact() left it, which is the cheapest to read, and older than what was loaded since. -#}
{%- macro read_optimized(relation) -%}
{%- do tidemark._check_entity_relation(relation, 'read_optimized') -%}
{%- if not execute or relation.limit is not none -%}
select * from {{ relation }}
{%- else -%}
{{ tidemark.version_sql(relation, tidemark.optimized_version(relation)) }}
{%- endif -%}
{%- endmacro -%}

{%- macro version_sql(relation, version) -%}
select * from {{ relation }} version as of {{ version }}
{%- endmacro -%}
