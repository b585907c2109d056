{#- The whole table of intervals in one statement; readers see the old table until it is done. -#}
{%- macro build_intervals_sql(relation, options, body) -%}
create or replace table {{ relation }}
{{ tidemark.table_clauses_sql(options['file_format'], relation.identifier, options) }}
as
{{ body }}
{%- endmacro -%}
