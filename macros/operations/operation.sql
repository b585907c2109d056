{#- Do an operation, which is Python: a function of `tidemark.operations`, by module and name. The entity, or
    what else is operated on, comes first of its arguments. -#}
{%- macro operation(function) -%}
    {%- do tidemark.check_loads(varargs[0]) -%}
    {{ return(adapter.run_step('operations.' ~ function, tidemark, *varargs)) }}
{%- endmacro -%}
