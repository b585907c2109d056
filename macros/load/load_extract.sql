{#- Load the extract of a business date; the figures of the run. Nothing is written before every check has passed. -#}
{%- macro load_extract(cfg, run, state, relations, commits, compiled_sql) -%}
    {%- if run['business_date'] is none and not run['empty'] -%}
        {%- do tidemark.raise_error('usage',
            cfg['entity'] ~ ': which business date? Give it with --vars \'{business_date: "2026-03-04"}\''
        ) -%}
    {%- endif -%}
    {%- set recorded = none if run['full_refresh'] else state['recorded'] -%}
    {%- set plan = tidemark.stage(cfg, run, state, compiled_sql) -%}
    {%- if run['empty'] -%}
        {%- do tidemark.prepare_tables(cfg, plan, state, relations) -%}
        {%- do tidemark.forget_run_views(cfg['target']) -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set load = tidemark.plan_load(cfg, run, state) -%}
    {%- do tidemark.prepare_comparison(cfg, plan, state, relations, load) -%}
    {%- set figures = tidemark.stage_changes(cfg, plan, state, relations, load) or tidemark.classify(cfg, plan, relations, load) -%}
    {%- do tidemark.check_rejects(cfg, plan, run, load, figures) -%}
    {%- do tidemark.check_deletes(cfg, run, load, figures) -%}
    {%- do tidemark.prepare_tables(cfg, plan, state, relations) -%}
    {%- set new = tidemark.count_new_rejects(relations, load, figures) -%}
    {%- set commit_id = tidemark.write_commit(cfg, plan, run, state, relations, commits, load, figures) -%}
    {%- do tidemark.tell_rejects(cfg, figures, ['row', 'rows'], relations['rejects'], '_commit_id = ' ~ commit_id, ' of business date ' ~ run['business_date'], new) -%}
    {%- do figures.update({'notes': tidemark.tell_new_columns(cfg, plan, recorded)}) -%}
    {{ return(figures) }}
{%- endmacro -%}


{#- How many rejects of a date that was loaded before are new; none of another date. -#}
{%- macro count_new_rejects(relations, load, figures) -%}
    {%- if not figures['rows_rejected'] or load['this_commit_id'] is none -%}{{ return(none) }}{%- endif -%}
    {{ return(tidemark.query_rows(tidemark.new_rejects_sql(
        tidemark.rejected_rows_sql(load['classified']), relations['rejects'], load['this_commit_id']
    ))[0]['new_count'] | int) }}
{%- endmacro -%}


{#- Say what is new about the columns; what the run's line says of it. -#}
{%- macro tell_new_columns(cfg, plan, recorded) -%}
    {%- set told = tidemark.new_columns(cfg, plan, recorded) -%}
    {%- for sentence in told['long'] -%}
        {%- do log(cfg['entity'] ~ ': ' ~ sentence, info=true) -%}
    {%- endfor -%}
    {{ return(told['short']) }}
{%- endmacro -%}
