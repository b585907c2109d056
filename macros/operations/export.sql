{#- Write events and entities of the commits after `from`, up to `to`, as files for a warehouse loader:

        <path>/run=<last commit>/atomic-events/part-…                       lines of the canonical TSV
        <path>/run=<last commit>/shredded-types/vendor=…/name=…/format=…/version=…/part-…   JSON lines

    A folder of the same last commit is written anew, and is whole once there is atomic-events/_SUCCESS, which
    comes last. -#}
{%- macro export(entity, path, from=none, to=none, json_columns=true) -%}
    {{ return(tidemark.operation('export.export', entity, path, from, to, json_columns)) }}
{%- endmacro -%}
