{#- What becomes of every column of an events entity. `found` is what the batch holds: `names` of its images,
    `schemas` (inline schemas: id → columns), `ddl` (columns by the last DDL event, or none), `inferred` types, `arrived`
    (columns of a typed source, or none), `renames` (old name → new, of DDL events in the batch), `refused` names,
    names `to_come` by statements later in the batch. -#}
{%- macro event_plan(cfg, found, types, recorded) -%}
    {{ return(adapter.call_function(
        'tidemark.rules.event_plan.event_plan', cfg, found, types, recorded, tidemark.reserved_event_columns(), tidemark.hash_recipe_version()
    )) }}
{%- endmacro -%}

