{#- Whether a load rejects more of what it read than it may. The limit is rounded, as in deletes_too_much(). -#}
{%- macro rejects_too_many(cfg, run, figures) -%}
    {%- set guarded = tidemark.guarded_rejects(figures) -%}
    {{ return(guarded['rejected'] > (tidemark.most_rejects(cfg, run) * guarded['read']) | round(6)) }}
{%- endmacro -%}

{#- The part of what a load reads that may be rejected. -#}
{%- macro most_rejects(cfg, run) -%}
    {%- if cfg['on_reject'] == 'fail' -%}{{ return(0) }}{%- endif -%}
    {{ return(1 if run['allow_rejects'] else cfg['max_reject_fraction']) }}
{%- endmacro -%}

{#- How many rows a load rejects, and of how many. Of a date that comes again without those that it rejected before, which have been let
    through, as guarded_deletes() has it; of change events without the messages that are none of the table. -#}
{%- macro guarded_rejects(figures) -%}
    {%- set rejected, new = figures.get('rows_rejected') or 0, figures.get('new_rejects') -%}
    {%- set again = 0 if new is none else rejected - new -%}
    {{ return({'rejected': rejected - again, 'read': (figures.get('rows_read') or 0) - (figures.get('rows_ignored') or 0) - again}) }}
{%- endmacro -%}
