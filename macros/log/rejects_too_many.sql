{#- Whether a load rejects more of what it read than it may. The limit is rounded, as in deletes_too_much(). -#}
{%- macro rejects_too_many(cfg, run, figures) -%}
    {{ return(adapter.call_function('tidemark.rules.guard.rejects_too_many', cfg, run, figures)) }}
{%- endmacro -%}

{#- The part of what a load reads that may be rejected. -#}
{%- macro most_rejects(cfg, run) -%}
    {{ return(adapter.call_function('tidemark.rules.guard.most_rejects', cfg, run)) }}
{%- endmacro -%}

{#- How many rows a load rejects, and of how many. Of a date that comes again without those that it rejected before, which have been let
    through, as guarded_deletes() has it; of change events without the messages that are none of the table. -#}
{%- macro guarded_rejects(figures) -%}
    {{ return(adapter.call_function('tidemark.rules.guard.guarded_rejects', figures)) }}
{%- endmacro -%}
