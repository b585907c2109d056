{#- Whether the adapter can do what no statement of SQL does. `type: tidemark` can all of it where Spark runs
    in dbt's own process, and at the other end of a wire what needs no Spark here; plain `type: spark` none.
    Nothing else asks which adapter it is. -#}
{%- macro can(capability) -%}
    {%- if capability not in tidemark.capabilities() -%}
        {%- do exceptions.raise_compiler_error('tidemark.can: there is no capability `' ~ capability
            ~ '`. Name one of tidemark.capabilities') -%}
    {%- endif -%}
    {{ return(adapter.type() == 'tidemark'
        and (capability in ['load', 'call_python', 'report_errors'] or adapter.has_session())) }}
{%- endmacro -%}

{#- Every capability, with what there is in its place where the adapter lacks it. -#}
{%- macro capabilities() -%}
    {{ return({
        'load': 'tables are read; what would write to them says which adapter does',
        'list_files': 'a script, which takes a job of Spark',
        'read_footers': 'Parquet files with timestamps in nanoseconds are refused',
        'remove_files': 'what a killed run left in a folder stays until somebody removes it',
        'write_delta_files': 'INSERT and MERGE, which plan what a small load needs no plan for',
        'know_commits': 'the commits of an entity are read anew by each run',
        'run_workers': 'extracts and events are loaded by Spark SQL',
        'call_python': 'nothing: what calls it writes, which takes our adapter',
        'register_functions': 'a registry of schemas is refused, as data is validated in Python',
        'know_pepper': 'a pepper with a quote is an error of Spark, which may show it: it is in the '
            ~ 'environment of the server',
        'hide_literals': "the key that is erased stands in statements, and so in dbt's log",
        'trim_log': "bounds of values in Delta's log, which it drops after 30 days",
        'keep_plan': 'a plan as tables, `plan: true`; `tidemark plan` is refused',
        'cache_views': 'cached views, worked out again by each reader that plans',
        'ask_catalog': 'describe and show statements',
        'parse_expressions': 'an expression of the YAML that is none is an error of the statement that it '
            ~ 'is put into',
        'run_alone': 'statements that are tried again',
        'report_errors': "dbt's own words for an error, with the macros that were at work",
    }) }}
{%- endmacro -%}
