{#- What macros call of the load pipeline, which is Python: a line each, that goes when its last caller does.
    -#}

{#- An adapter that only reads takes them as they are. -#}
{%- macro ensure_commits(run) -%}
    {%- if tidemark.can('load') -%}
        {{ return(adapter.run_step('commits.ensure_commits', tidemark, run)) }}
    {%- endif -%}
    {%- set commits = tidemark.commits_relations(run) -%}
    {%- if not tidemark.relation_exists(commits['view']) -%}
        {%- do tidemark.check_loads(commits['view'] | string) -%}
    {%- endif -%}
    {{ return(commits) }}
{%- endmacro -%}

{%- macro open_load(cfg, run, current=none) -%}
    {%- do tidemark.check_loads(cfg['entity']) -%}
    {{ return(adapter.run_step('opening.open_load', tidemark, cfg, run, current)) }}
{%- endmacro -%}

{%- macro load_entity(opened, body) -%}{{ return(adapter.run_step('steps.load_entity', tidemark, opened,
    body)) }}{%- endmacro -%}
{#- What a load would do; the line that dbt prints. -#}
{%- macro plan_entity(cfg, run, current, body) -%}
    {{ return(adapter.run_step('operations.planning.plan_entity', tidemark, cfg, run, current, body)) }}
{%- endmacro -%}
{%- macro summary(figures) -%}{{ return(adapter.call_function('tidemark.pipeline.steps.summary',
    figures)) }}{%- endmacro -%}
{%- macro atomic_summary(figures) -%}{{ return(adapter.call_function('tidemark.pipeline.steps.batch_summary',
    figures)) }}{%- endmacro -%}

{%- macro drop_table(relation) -%}{{ return(adapter.run_step('tables.drop_table', tidemark,
    relation)) }}{%- endmacro -%}

{#- The relation that a setting names as dbt's tests do; that of a model whose SQL does not name it is dbt's
    error. -#}
{%- macro named_relation(kind, names) -%}{{ return(source(*names) if kind == 'source'
    else ref(*names)) }}{%- endmacro -%}
