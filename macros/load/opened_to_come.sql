{#- The entity with views in place of tables that a load is going to alter: new columns are there, types are wider. So what a load stages
    can be looked at while the tables are as they are, and a plan alters none. -#}
{%- macro opened_to_come(opened, plan) -%}
    {%- set cfg, relations = opened['cfg'], opened['relations'] -%}
    {%- set views, is_altered = {}, plan['added'] or tidemark.widened_columns(plan) -%}
    {%- for name in tidemark.tables_of_columns(cfg, plan, 'log') if is_altered and relations[name] is not string -%}
        {%- if name == 'sensitive' and not tidemark.relation_exists(relations[name]) -%}
            {%- set sql = tidemark.no_rows_sql(tidemark.sensitive_columns(plan)) -%}
        {%- else -%}
            {%- set present = tidemark.describe_query('select * from ' ~ relations[name]) -%}
            {%- set sql = tidemark.table_to_come_sql(relations[name], tidemark.changes_to_come(cfg, plan, name, present)) -%}
        {%- endif -%}
        {%- do views.update({name: tidemark.make_view(tidemark.run_view(cfg['target'], name ~ '_to_come'), sql)}) -%}
    {%- endfor -%}
    {{ return(dict(opened, relations=dict(relations, **views), state=dict(opened['state'], log_version=none))) }}
{%- endmacro -%}
