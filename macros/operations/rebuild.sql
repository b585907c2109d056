{#- Make current anew from the log, whatever has become of its files: nothing of it is read. Another table is
    filled beside it, which takes its name when it is whole. What a run left in flight, as it met a file that
    could not be read, is finished then. -#}
{%- macro rebuild(entity, dry_run=false) -%}{{ return(tidemark.operation('rebuild.rebuild', entity,
    dry_run)) }}{%- endmacro -%}
