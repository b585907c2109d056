{#- The part of what a load reads that may be rejected. -#}
{%- macro most_rejects(cfg, run) -%}
    {{ return(adapter.call_function('tidemark.rules.guard.most_rejects', cfg, run)) }}
{%- endmacro -%}
