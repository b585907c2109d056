{#- Make the log of an entity from a table with intervals: each date at whose end other rows hold is loaded as
    a full extract of that date, with the checks, hashes and types of the model, then the log is replayed and
    compared with the table. Run again, it goes on where it stopped. -#}
{%- macro adopt(entity, table, valid_from='dbt_valid_from', valid_to='dbt_valid_to', inclusive=false,
    dry_run=false) -%}
    {{ return(tidemark.operation('adopt.adopt', entity, table, valid_from, valid_to, inclusive, dry_run)) }}
{%- endmacro -%}

{#- The table or view of a name with or without its schema; none where there is none. -#}
{%- macro table_named(name) -%}
    {%- set parts = name.split('.') -%}
    {{ return(adapter.get_relation(database=none, schema=parts[-2] if parts | length > 1 else target.schema,
        identifier=parts[-1])) }}
{%- endmacro -%}
