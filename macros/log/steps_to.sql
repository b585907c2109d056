{#- What going from the last commit of a timeline to `target` undoes and makes hold again, and what is loaded then. -#}
{%- macro steps_to(timeline, target) -%}
    {{ return(adapter.call_function('tidemark.rules.timeline.steps_to', timeline, target)) }}
{%- endmacro -%}
