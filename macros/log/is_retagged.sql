{#- Whether current is to show other rows, or other tags, than by what was recorded: it is then written anew
    from the log. -#}
{%- macro is_retagged(cfg, recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.is_retagged', cfg, recorded)) }}
{%- endmacro -%}
