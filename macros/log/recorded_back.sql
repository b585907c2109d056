{#- What an entity is held to once a rollback has taken it back to where a commit recorded `then`, of what its last commit recorded (`now`).
    Of change events what is known of the source is as it was then, as what was undone is read again, and statements of it are judged anew;
    so are the names of columns, but for those that the YAML names (`named`, lower case), and the rule of ties that its rows are in order by.
    Whatever came since stays in the log. -#}
{%- macro recorded_back(now, then, named) -%}
    {{ return(adapter.call_function('tidemark.rules.columns_back.recorded_back', now, then, named)) }}
{%- endmacro -%}

{#- The columns `now`, in their order, that are called otherwise in `back`: [old, new], each once its new name is free. -#}
{%- macro renames_back(entity, now, back) -%}
    {{ return(adapter.call_function('tidemark.rules.columns_back.renames_back', entity, now, back)) }}
{%- endmacro -%}

