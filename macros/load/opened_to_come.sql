{#- The entity with views in place of tables that a load would alter before it reads them: new columns are there, types are wider, and
    rows of deleted keys are left out where they go. -#}
{%- macro opened_to_come(opened, plan) -%}
    {%- set cfg, relations, recorded = opened['cfg'], opened['relations'], opened['state']['recorded'] -%}
    {%- set views, widened = {}, tidemark.widened_columns(plan) -%}
    {%- set drops_deleted = recorded['soft_delete'] and not cfg['soft_delete'] -%}
    {%- for name in tidemark.tables_of_columns(cfg, plan, 'log') if relations[name] is not string -%}
        {%- set sql = none -%}
        {%- if name == 'sensitive' and not tidemark.relation_exists(relations[name]) -%}
            {%- set sql = tidemark.no_rows_sql(tidemark.sensitive_columns(plan)) -%}
        {%- elif plan['added'] or widened or (drops_deleted and name == 'current') -%}
            {%- set present = tidemark.names_in(relations[name]) | map('lower') | list -%}
            {%- set missing, wider = [], [] -%}
            {%- for column in plan['added'] if column['sensitive'] == (name == 'sensitive') -%}
                {%- for stored in [column['name']] + (['_before_' ~ column['name']] if name == 'staging' else []) if stored | lower not in present -%}
                    {%- do missing.append({'name': stored, 'type': column['type']}) -%}
                {%- endfor -%}
            {%- endfor -%}
            {%- for column in widened -%}
                {%- for stored in [column['name'], '_before_' ~ column['name']] if stored | lower in present -%}
                    {%- do wider.append({'name': stored, 'type': column['type']}) -%}
                {%- endfor -%}
            {%- endfor -%}
            {%- set sql = tidemark.table_to_come_sql(relations[name], missing, wider, "_operation <> 'D'" if drops_deleted and name == 'current' else none) -%}
        {%- endif -%}
        {%- if sql -%}
            {%- do views.update({name: tidemark.make_view(tidemark.run_view(cfg['target'], name ~ '_to_come'), sql)}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(dict(opened, relations=dict(relations, **views))) }}
{%- endmacro -%}
