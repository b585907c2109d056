{#-
    Columns with a default that are new at the source, each with the number of the first event that has it: where no DDL events
    come (PostgreSQL), the inline schemas show that, and the rows that were there before hold the default. A column that came
    before, and is taken from now on alone, has values there which nobody has told us; so has one whose first events come again.
-#}
{%- macro new_in_schemas(plan, batch, recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.event_plan.new_in_schemas', plan, batch, recorded)) }}
{%- endmacro -%}

{#- Names, lower case, of all columns that have come up to a batch, whether there are columns of the target for them or not. -#}
{%- macro told_names(batch, recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.event_plan.told_names', batch, recorded)) }}
{%- endmacro -%}
