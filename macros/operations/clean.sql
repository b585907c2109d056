{#- Take away what retention does not keep any more: the settings', or for this call `retention`. The floor,
    before which changes cannot be asked from then on, is recorded before anything is removed, and each
    table's rows go in one commit of it: a call that died is finished by the next. -#}
{%- macro clean(entity, dry_run=false, vacuum=false, retention={}) -%}
    {{ return(tidemark.operation('clean.clean', entity, dry_run, vacuum, retention)) }}
{%- endmacro -%}

{#- The relation of a name such as `shop.airports_scd2`. -#}
{%- macro relation_named(name) -%}
    {%- set schema, _, identifier = name.partition('.') -%}
    {{ return(api.Relation.create(schema=schema, identifier=identifier)) }}
{%- endmacro -%}

{#- Up to which commit an entity's history was cleaned, 0 for one that never was. -#}
{%- macro cleaned_until(relation) -%}
    {%- if not execute -%}{{ return(0) }}{%- endif -%}
    {%- set states = tidemark.commits_relations(tidemark.run_config())['states'] -%}
    {%- if not tidemark.relation_exists(states) -%}{{ return(0) }}{%- endif -%}
    {{ return(run_query(tidemark.clean_horizons_sql(states, relation.schema ~ '.' ~ relation.identifier,
        {}))[0]['floor'] | int) }}
{%- endmacro -%}
