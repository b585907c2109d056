{#-
    Log rows that count: of a change kind and not superseded, or, with `known_at`, as they counted when that commit was
    the last one. This is what `<entity>__history` shows.
-#}
{%- macro in_force_expr(known_at=none, alias=none) -%}
    {%- set at = alias ~ '.' if alias else '' -%}
    {%- if known_at is none -%}
        {{ return(at ~ '_superseded_by is null') }}
    {%- endif -%}
    {{ return(at ~ '_commit_id <= ' ~ known_at ~ ' and (' ~ at ~ '_superseded_by is null or ' ~ at ~ '_superseded_by > ' ~ known_at ~ ')') }}
{%- endmacro -%}
