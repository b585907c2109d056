{#- Load the extract of a business date; the figures of the run. Nothing is written before every check has passed. -#}
{%- macro load_extract(cfg, run, state, relations, commits, compiled_sql) -%}
    {%- if run['business_date'] is none and not run['empty'] -%}
        {%- do exceptions.raise_compiler_error(
            cfg['entity'] ~ ': which business date? Give it with --vars \'{business_date: 2026-03-04}\''
        ) -%}
    {%- endif -%}
    {%- set plan = tidemark.stage(cfg, run, state, compiled_sql) -%}
    {%- if run['empty'] -%}
        {%- do tidemark.prepare_tables(cfg, plan, state, relations) -%}
        {%- do tidemark.forget_run_views(cfg['target']) -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set load = tidemark.plan_load(cfg, run, state) -%}
    {%- do tidemark.prepare_comparison(cfg, plan, state, relations, load) -%}
    {%- set figures = tidemark.stage_changes(cfg, plan, state, relations, load) or tidemark.classify(cfg, plan, relations, load) -%}
    {%- do tidemark.check_rejects(cfg, run, load, figures) -%}
    {%- do tidemark.check_deletes(cfg, run, load, figures) -%}
    {%- do tidemark.prepare_tables(cfg, plan, state, relations) -%}
    {%- do tidemark.write_commit(cfg, plan, run, state, relations, commits, load, figures) -%}
    {{ return(figures) }}
{%- endmacro -%}
