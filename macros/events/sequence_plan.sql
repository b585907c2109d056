{#- What becomes of a sequence whose type is not the recorded one, each a struct of which `sequence_1`, … are what sequence_by names:
    `wider`, the fields that the log has to widen; `casts`, those that are read as the wider type that it has (by their place in
    sequence_by); `drift` and `errors` for all else. `guessed` are the columns of a first batch that nothing says to be text: they only
    look so. -#}
{%- macro sequence_plan(cfg, type, recorded, guessed=[]) -%}
    {{ return(adapter.call_function('tidemark.rules.event_plan.sequence_plan', cfg, type, recorded, guessed)) }}
{%- endmacro -%}
