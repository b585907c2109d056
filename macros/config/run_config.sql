{#- What was asked of this run: date, permissions, flags. The one reader of the run's vars and flags. Where no
    Python can be called, nothing is loaded: a reading needs to know where commits are. -#}
{%- macro run_config() -%}
    {%- set run = {
        'business_date': tidemark._business_date(var('business_date', none)),
        'full_refresh': should_full_refresh() if model is defined else false,
        'empty': flags.EMPTY | default(false, true),
        'invocation_id': invocation_id,
        'commits_schema': var('tidemark__schema', none) or target.schema,
        'commits_format': var('tidemark__commits_format', 'delta'),
    } -%}
    {%- if execute and tidemark.can('call_python') -%}
        {%- do run.update(adapter.call_function('tidemark.model.run.run_settings', {
            'allow_deletes': var('allow_deletes', false),
            'allow_rejects': var('allow_rejects', false),
            'sample_rows': var('tidemark__sample_rows', 5),
            'merge_keys': var('tidemark__merge_keys', 32),
            'max_line_bytes': var('tidemark__max_line_bytes', 67108864),
            'plan': var('plan', false),
            'planned': var('tidemark__planned', {}),
            'engine': var('tidemark__engine', 'auto'),
        })) -%}
    {%- endif -%}
    {{ return(run) }}
{%- endmacro -%}

{#- Whether the command runs unit tests before it loads what they are about, as it does with dbt's own. -#}
{%- macro runs_unit_tests() -%}
    {{ return(flags.WHICH == 'build' and not flags.EMPTY
        and var('tidemark__unit_tests', true) | string | lower == 'true') }}
{%- endmacro -%}

{#- The table format of a project whose rows can change, delta or iceberg: a session has one of the two. -#}
{%- macro lake_format() -%}
    {{ return('iceberg' if var('tidemark__commits_format', 'delta') == 'iceberg' else 'delta') }}
{%- endmacro -%}

{#- An ISO date string from a var that may have arrived as a date, a datetime or a string; none stays none.
    -#}
{%- macro _business_date(value, argument='business_date') -%}
    {%- if value is none or value == '' -%}{{ return(none) }}{%- endif -%}
    {%- set text = value | string -%}
    {%- set parts = text.split('-') -%}
    {%- set well_formed = text | length == 10 and parts | length == 3 and parts[0] | length == 4
        and parts[1] | length == 2
        and parts[0].isdigit() and parts[1].isdigit() and parts[2].isdigit() -%}
    {%- if well_formed -%}
        {%- set year, month, day = parts[0] | int, parts[1] | int, parts[2] | int -%}
        {%- set leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) -%}
        {%- set days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] -%}
        {%- if year >= 1 and 1 <= month <= 12 and 1 <= day <= days[month - 1] -%}
            {{ return(text) }}
        {%- endif -%}
    {%- endif -%}
    {%- do tidemark.raise_error('usage',
        argument ~ " must be a date such as 2026-03-04, found: '" ~ text ~ "'") -%}
{%- endmacro -%}
