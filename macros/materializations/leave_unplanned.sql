{#- A model of another kind is left as it is by a run that plans. -#}
{%- macro leave_unplanned(name, kind) -%}
    {%- do log(name
        ~ ': not planned, as a plan is of extracts and change events: its table follows once they are loaded'
        if kind != 'atomic'
        else name ~ ': not planned, as batches of enriched events are not', info=true) -%}
    {%- call noop_statement('main', 'NOT PLANNED') -%}{%- endcall -%}
    {{ return({'relations': []}) }}
{%- endmacro -%}
