{#- Whether a load rejects more of what it read than it may. The limit is rounded, as in deletes_too_much(). -#}
{%- macro rejects_too_many(cfg, run, figures) -%}
    {{ return(adapter.call_function('tidemark.rules.guard.rejects_too_many', cfg, run, figures)) }}
{%- endmacro -%}

{#- The part of what a load reads that may be rejected. -#}
{%- macro most_rejects(cfg, run) -%}
    {{ return(adapter.call_function('tidemark.rules.guard.most_rejects', cfg, run)) }}
{%- endmacro -%}

