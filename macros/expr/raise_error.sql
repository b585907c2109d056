{#- Stop with a message for the person who runs dbt. `kind` says whose turn it is and heads the message:
    `configuration` (the YAML or the SQL of a model), `usage` (what was asked for), `data` (what came, or what
    is stored). Adapter `tidemark` tells dbt's log alone which macros were at work; another adapter prints
    them below the message. -#}
{%- macro raise_error(kind, message) -%}
    {%- if tidemark.can('report_errors') -%}
        {%- do adapter.raise_error(kind, message, context_macro_stack.call_stack[:-1], model
            if model is defined else none) -%}
    {%- endif -%}
    {%- do exceptions.raise_compiler_error(message) -%}
{%- endmacro -%}
