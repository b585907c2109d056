{#- Say how entities stand, a line of JSON each, for `tidemark apply`, which compares it with what a plan was made from. As in a plan
    nothing is mended, and what a dead run left is an error. -#}
{%- macro planned_state(entities, full_refresh=false) -%}
    {%- for entity in entities -%}
        {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
        {%- set opened = tidemark.open_load(cfg, dict(tidemark.run_config(), dry_run=true, full_refresh=full_refresh)) -%}
        {%- do builtins.log('tidemark planned ' ~ tojson(dict(tidemark.no_planned_facts(opened)['tables'], entity=entity))) -%}
    {%- endfor -%}
{%- endmacro -%}
