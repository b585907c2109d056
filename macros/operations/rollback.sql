{#- Take an entity back to how it stood after a commit, by one more commit of the log: the feed shows it as
    one correction, and it can be rolled back itself. With `together` the cdc models that the same dbt runs
    wrote go back to before those runs, the named one last; none of them does if one of them cannot. -#}
{%- macro rollback(entity, to=none, together=false, dry_run=false) -%}
    {{ return(tidemark.operation('rollback.rollback', entity, to, together, dry_run)) }}
{%- endmacro -%}
