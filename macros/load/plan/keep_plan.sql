{#- Hand a plan to `tidemark plan`, which started this run, or keep it as tables beside the entity. -#}
{%- macro keep_plan(opened, facts, queries, inputs) -%}
    {%- if opened['run']['plan'] == 'kept' -%}
        {%- set rows = {} -%}
        {%- for name, sql in queries.items() -%}{%- do rows.update({name: tidemark.query_rows(sql)}) -%}{%- endfor -%}
        {%- do adapter.call_function('tidemark.plan.collect.take', facts, rows, inputs) -%}
    {%- else -%}
        {%- do tidemark.write_plan(opened, facts, queries) -%}
    {%- endif -%}
{%- endmacro -%}

{#- The tables of a plan, in place of those of the plan before. Each is of Parquet, whatever the format of the entity. -#}
{%- macro write_plan(opened, facts, queries) -%}
    {%- set tables = tidemark.plan_relations(opened['cfg']['target']) -%}
    {%- do tidemark.drop_plan(opened['cfg']['target']) -%}
    {%- do tidemark.clear_debris(tables.values() | list) -%}
    {%- do run_query('create table ' ~ tables['plan'] ~ ' using parquet as\n' ~ tidemark.plan_row_sql(facts)) -%}
    {%- for name, columns in tidemark.plan_columns().items() -%}
        {%- set sql = queries.get(name) or tidemark.no_rows_sql(columns) -%}
        {%- do run_query('create table ' ~ tables[name] ~ ' using parquet as\n' ~ sql) -%}
    {%- endfor -%}
{%- endmacro -%}

{#- The tables of a plan, by what they hold: `airports__plan`, `airports__plan_columns`, … -#}
{%- macro plan_relations(current) -%}
    {%- set relations = {'plan': tidemark.side_relation(current, 'plan')} -%}
    {%- for name in tidemark.plan_columns() -%}
        {%- do relations.update({name: tidemark.side_relation(current, 'plan_' ~ name)}) -%}
    {%- endfor -%}
    {{ return(relations) }}
{%- endmacro -%}

{#- Take away the plan of an entity, which may have values of its rows. -#}
{%- macro drop_plan(current) -%}
    {%- for relation in tidemark.plan_relations(current).values() -%}{%- do tidemark.drop_table(relation) -%}{%- endfor -%}
{%- endmacro -%}
