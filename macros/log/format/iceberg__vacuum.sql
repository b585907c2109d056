{#- Remove files that no snapshot which is kept needs, of an age that the table's properties tell; `at_once`
    keeps the present snapshot alone, once rows that were only marked as deleted are written out of their
    files. -#}
{%- macro iceberg__vacuum(relation, at_once) -%}
    {%- set table = 'table => ' ~ tidemark.string_literal(relation | string) -%}
    {%- if not at_once -%}
        {{ return(['call spark_catalog.system.expire_snapshots(' ~ table ~ ')']) }}
    {%- endif -%}
    {{ return([
        'call spark_catalog.system.rewrite_data_files(' ~ table
            ~ ", options => map('delete-file-threshold', '1'))",
        'call spark_catalog.system.expire_snapshots(' ~ table
            ~ ", older_than => timestamp'2999-01-01 00:00:00', retain_last => 1)",
    ]) }}
{%- endmacro -%}
