{#- What becomes of every column of an extract: its name and type, whether it is a key, compared, ignored or
    kept apart. `source_columns` is what the model's SQL yields, `types` the declared types in Spark's
    spelling, `recorded` what the entity's last commit was made with (none on a first run), `origin` says in
    messages which extract it is. -#}
{%- macro column_roles(cfg, source_columns, types, recorded, origin='') -%}
    {{ return(adapter.call_function(
        'tidemark.rules.column_roles.column_roles', cfg, source_columns, types, recorded, origin,
        tidemark.reserved_columns(), tidemark.hash_recipe_version()
    )) }}
{%- endmacro -%}
