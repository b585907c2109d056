{#- The name under which the values of a column are kept whose own another one takes; `taken` are names in lower case. -#}
{%- macro free_name(name, taken) -%}
    {{ return(adapter.call_function('tidemark.rules.columns_back.free_name', name, taken)) }}
{%- endmacro -%}

{#- The columns `now`, in their order, that are called otherwise in `back`: [old, new], each once its new name is free. -#}
{%- macro renames_back(entity, now, back) -%}
    {{ return(adapter.call_function('tidemark.rules.columns_back.renames_back', entity, now, back)) }}
{%- endmacro -%}

{#- Whether columns are in current by one of two records, and are not by the other. -#}
{%- macro columns_return(now, back) -%}
    {{ return(adapter.call_function('tidemark.rules.columns_back.columns_return', now, back)) }}
{%- endmacro -%}
