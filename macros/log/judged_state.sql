{#- What a run needs to know of an entity's commits, from all their states: see entity_states_sql(), whose order counts. The same as
    entity_state_sql() works out where they are many. -#}
{%- macro judged_state(states, business_date) -%}
    {{ return(adapter.call_function('tidemark.rules.commits.judged_state', states, business_date)) }}
{%- endmacro -%}

{#- How far what is derived from an entity has read it, from the states of `own` commits and of the entity's `others`, and what those
    are by now. The same as scd2_state_sql() and shred_marks_sql() work out. -#}
{%- macro judged_marks(own, others, kind) -%}
    {{ return(adapter.call_function('tidemark.rules.commits.judged_marks', own, others, kind)) }}
{%- endmacro -%}
