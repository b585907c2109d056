{#- Write all rows into a new folder, then point the table to it: readers see the old rows or the new ones. -#}
{%- macro parquet__overwrite_current(plan, relations, rows, load) -%}
{%- set path = tidemark.parquet_version_path(relations['root'], relations['current'], load['version']) -%}
{%- set write -%}
insert overwrite directory {{ tidemark.string_literal(path) }}
using parquet
{{ rows }}
{%- endset -%}
{{ return([
    write,
    'alter table ' ~ relations['current'] ~ ' set location ' ~ tidemark.string_literal(path),
    'refresh table ' ~ relations['current'],
]) }}
{%- endmacro -%}
