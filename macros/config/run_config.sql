{#- What was asked of this run: date, permissions, flags. The one reader of the run's vars and flags. -#}
{%- macro run_config() -%}
    {{ return({
        'business_date': tidemark._business_date(var('business_date', none)),
        'allow_deletes': var('allow_deletes', false) | string | lower == 'true',
        'allow_rejects': var('allow_rejects', false) | string | lower == 'true',
        'full_refresh': should_full_refresh() if model is defined else false,
        'empty': flags.EMPTY | default(false, true),
        'invocation_id': invocation_id,
        'commits_schema': var('tidemark__schema', none) or target.schema,
        'commits_format': var('tidemark__commits_format', 'delta'),
        'sample_rows': var('tidemark__sample_rows', 5) | int,
        'merge_keys': var('tidemark__merge_keys', 32) | int,
        'max_line_bytes': var('tidemark__max_line_bytes', 67108864) | int,
        'plan': tidemark._plan(var('plan', false)),
        'planned': var('tidemark__planned', {}),
        'engine': tidemark._engine(var('tidemark__engine', 'auto')),
    }) }}
{%- endmacro -%}

{#- The table format of a project whose rows can change, delta or iceberg: a session has one of the two. -#}
{%- macro lake_format() -%}
    {{ return('iceberg' if var('tidemark__commits_format', 'delta') == 'iceberg' else 'delta') }}
{%- endmacro -%}

{#- An ISO date string from a var that may have arrived as a date, a datetime or a string; none stays none. -#}
{%- macro _business_date(value, argument='business_date') -%}
    {%- if value is none or value == '' -%}{{ return(none) }}{%- endif -%}
    {%- set text = value | string -%}
    {%- set parts = text.split('-') -%}
    {%- set well_formed = text | length == 10 and parts | length == 3 and parts[0] | length == 4 and parts[1] | length == 2
        and parts[0].isdigit() and parts[1].isdigit() and parts[2].isdigit() -%}
    {%- if well_formed -%}
        {%- set year, month, day = parts[0] | int, parts[1] | int, parts[2] | int -%}
        {%- set leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) -%}
        {%- set days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] -%}
        {%- if year >= 1 and 1 <= month <= 12 and 1 <= day <= days[month - 1] -%}{{ return(text) }}{%- endif -%}
    {%- endif -%}
    {%- do tidemark.raise_error('usage', argument ~ " must be a date such as 2026-03-04, found: '" ~ text ~ "'") -%}
{%- endmacro -%}

{#- How a load is only planned: `tables`, or `kept` for who started this run; none for a load. -#}
{%- macro _plan(value) -%}
    {%- set known = {'true': 'tables', 'kept': 'kept', 'false': none} -%}
    {%- if value | string | lower not in known -%}
        {%- do tidemark.raise_error('usage', 'plan must be true or false, found: ' ~ value) -%}
    {%- endif -%}
    {{ return(known[value | string | lower]) }}
{%- endmacro -%}

{#- The engine of entities that name none. -#}
{%- macro _engine(value) -%}
    {%- set errors = [] -%}
    {%- do tidemark._one_of('tidemark__engine', value, tidemark._engines(), errors) -%}
    {%- if errors -%}{%- do tidemark.raise_error('usage', errors[0]) -%}{%- endif -%}
    {{ return(value) }}
{%- endmacro -%}

{%- macro _engines() -%}
    {{ return(['auto', 'spark', 'workers']) }}
{%- endmacro -%}
