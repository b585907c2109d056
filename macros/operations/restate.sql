{#- Load the business dates from a date on again, in their order; of change events take what landed since then
    anew. The extracts are looked for before anything is written, which needs a model whose body is `{{
    tidemark.extract() }}`. -#}
{%- macro restate(entity, from=none, dry_run=false) -%}{{ return(tidemark.operation('restate.restate', entity,
    from, dry_run)) }}{%- endmacro -%}
