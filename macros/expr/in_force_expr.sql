{#- Log rows that count: of a change kind and not superseded, or, with `known_at`, as they counted when that
    commit was the last one. This is what `<entity>__history` shows. -#}
{%- macro in_force_expr(known_at=none, alias=none) -%}
    {%- set at = alias ~ '.' if alias else '' -%}
    {%- if known_at is none -%}{{ return(at ~ '_superseded_by is null') }}{%- endif -%}
    {{ return(at ~ '_commit_id <= ' ~ known_at ~ ' and (' ~ at ~ '_superseded_by is null or ' ~ at
        ~ '_superseded_by > ' ~ known_at ~ ')') }}
{%- endmacro -%}

{#- Log rows in force that changed something: all of an extract's; of events those with I, U or D. -#}
{%- macro change_in_force_expr(roles, alias=none) -%}
    {%- set events = ' and ' ~ (alias ~ '.' if alias else '') ~ "_operation in ('I', 'U', 'D')"
        if roles.get('flow') == 'events' else '' -%}
    {{ return(tidemark.in_force_expr(alias=alias) ~ events) }}
{%- endmacro -%}

{#- What the log rows of a key are ordered by. -#}
{%- macro log_order_expr(roles, alias=none) -%}
    {%- if roles.get('flow') == 'events' -%}{{ return(tidemark.event_order_expr(roles, alias)) }}{%- endif -%}
    {{ return((alias ~ '.' if alias else '') ~ '_business_date') }}
{%- endmacro -%}

{#- Rows of staging or rejects of commits that were not rolled back. -#}
{%- macro in_force_of(relation, state) -%}
    {%- if not state['undone'] -%}{{ return(relation) }}{%- endif -%}
    {{ return('(select * from ' ~ relation ~ ' where _commit_id not in (' ~ state['undone'] | join(', ')
        ~ '))') }}
{%- endmacro -%}
