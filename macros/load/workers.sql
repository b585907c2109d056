{#- The engine in the workers, whatever it loads. -#}

{#- What an entity asks for, or the run for all that ask for nothing. -#}
{%- macro engine_of(opened) -%}
    {{ return(opened['cfg']['engine'] or opened['run']['engine']) }}
{%- endmacro -%}

{#- Whether the engine in the workers tries a load; where something speaks against it, that is told. `why_not` is the Python
    function that says what of the model's settings does. -#}
{%- macro tries_workers(opened, body, why_not) -%}
    {%- set cfg, run, engine = opened['cfg'], opened['run'], tidemark.engine_of(opened) -%}
    {%- if engine == 'spark' or not tidemark.can('run_workers') or run['empty'] or run['full_refresh'] -%}{{ return(false) }}{%- endif -%}
    {%- set why = 'the model has a SELECT of its own' if body | trim != tidemark.extract_sql(cfg) | trim else adapter.call_function(why_not, cfg) -%}
    {%- if not why and engine == 'auto' and adapter.is_on_cluster() -%}
        {%- set why = "the session has a cluster, whose nodes may not share files: engine: workers says that they do" -%}
    {%- endif -%}
    {%- if why -%}{%- do tidemark.leave_to_spark(opened, why) -%}{%- endif -%}
    {{ return(not why) }}
{%- endmacro -%}

{#- Say why a load goes by Spark SQL: in the log, and on the console where the workers were asked for. -#}
{%- macro leave_to_spark(opened, why) -%}
    {%- do log(opened['cfg']['entity'] ~ ': by Spark SQL, as ' ~ why, info=tidemark.engine_of(opened) == 'workers') -%}
    {{ return(none) }}
{%- endmacro -%}

{#- The files of a load, once its tables are there; none of what Spark is to write. -#}
{%- macro files_of_workers(opened, staged, load) -%}
    {%- set written = staged['uncommitted'] -%}
    {%- if staged.get('kept') -%}
        {%- set targets = tidemark.write_relations(opened) -%}
        {%- set written = adapter.write_kept_rows(staged['kept'], targets, load['log_version']) -%}
    {%- endif -%}
    {%- if written -%}
        {%- do tidemark.check_staged(opened['cfg'], written, written.figures.get('rows_logged', staged['figures'].get('rows_logged'))) -%}
    {%- endif -%}
    {{ return(written) }}
{%- endmacro -%}
