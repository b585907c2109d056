{#- Make tables of their own over the files of a model's, in another schema, with a line of commits that goes
    on from there; with `replace` in the place of a clone that is there, with `remove` that is taken away. -#}
{%- macro clone(entity, to, replace=false, remove=false, dry_run=false) -%}
    {{ return(tidemark.operation('clone.clone', entity, to, replace, remove, dry_run)) }}
{%- endmacro -%}

{#- Put the log of a clone in the place of the one that it was made of, unless that has moved on, with the
    clone's commits. -#}
{%- macro promote(entity, schema, dry_run=false) -%}
    {{ return(tidemark.operation('promote.promote', entity, schema, dry_run)) }}
{%- endmacro -%}

{#- The schema of the target, with which those of `+schema` begin. -#}
{%- macro target_schema() -%}{{ return(target.schema) }}{%- endmacro -%}
