{#- Whether the extract of the run's date is full, scoped (full for a part of the rows) or a delta. A date
    that was loaded stays what it was, one after all others is what the YAML says, one between them what the
    date before it was, or the first one. So a setting that changes holds from the next date on. -#}
{%- macro extract_of_date(asked, run, state) -%}
    {%- set date = run['business_date'] -%}
    {%- if state['first'] or not date or not state['last_date'] or date > state['last_date'] -%}
        {{ return(asked) }}
    {%- endif -%}
    {%- if state['this_commit_id'] is not none -%}{{ return(state['this_extract']) }}{%- endif -%}
    {{ return(state['previous_extract']
        or (state['later_loads'] | sort(attribute='business_date') | first)['extract']) }}
{%- endmacro -%}

{#- The configuration of an entity for the date of a run. `asked_extract` is that of the YAML, `has_deltas`
    says whether some date was a delta or scoped, `scope` has the columns by which dates were, or are to be.
    -#}
{%- macro config_of_date(cfg, run, state) -%}
    {%- if cfg['family'] != 'extract' -%}{{ return(cfg) }}{%- endif -%}
    {%- set recorded = {} if state['first'] else state['recorded'] or {} -%}
    {%- set scope = cfg.get('scope') or recorded.get('scope') or [] -%}
    {%- set asked = cfg.get('asked_extract', 'scoped' if cfg.get('scope') else cfg['extract']) -%}
    {%- set extract = tidemark.extract_of_date(asked, run, state) -%}
    {%- set has_deltas = tidemark.is_partial(extract)
        or (not state['first'] and tidemark.had_deltas(state['recorded'])) -%}
    {{ return(dict(cfg, asked_extract=asked, extract=extract, scope=scope, has_deltas=has_deltas)) }}
{%- endmacro -%}

{#- Whether an extract leaves keys of which it says nothing, so that it is remembered which ones it supplied.
    -#}
{%- macro is_partial(extract) -%}
    {{ return(extract in ['delta', 'scoped']) }}
{%- endmacro -%}

{#- Whether some date of a log was such a one, by what its last commit recorded. -#}
{%- macro had_deltas(recorded) -%}
    {{ return(adapter.call_function('tidemark.rules.column_roles.had_deltas', recorded)) }}
{%- endmacro -%}

{#- Whether a table of keys that were supplied belongs to an entity. -#}
{%- macro has_deltas(cfg) -%}
    {{ return(cfg.get('has_deltas', tidemark.is_partial(cfg['extract']))) }}
{%- endmacro -%}

{#- The extract of the last date, whose tags current shows. -#}
{%- macro tags_as_delta(cfg, load) -%}
    {{ return(tidemark.is_partial(load.get('last_extract') or cfg['extract'])) }}
{%- endmacro -%}
