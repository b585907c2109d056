{#- What a run tells of columns that it met for the first time: `short` for its line, `long` where there is more to say. On a first run
    only what JSON has beside the YAML is told, as nothing else chose to leave it out. -#}
{%- macro new_columns(cfg, plan, recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.drift.new_columns', cfg, plan, recorded)) }}
{%- endmacro -%}
