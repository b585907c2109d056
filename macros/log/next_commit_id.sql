{#- A commit id: the moment as yyMMddHHmmssSSS (UTC), or one more than the last if the clock is behind it. -#}
{%- macro next_commit_id(last_id) -%}
    {%- set now = modules.datetime.datetime.now(modules.pytz.utc).strftime('%y%m%d%H%M%S%f')[:15] | int -%}
    {{ return([now, (last_id or 0) + 1] | max) }}
{%- endmacro -%}


{#- This moment (UTC) as text, for `started_at`. -#}
{%- macro utc_now() -%}
    {{ return(modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%d %H:%M:%S.%f')) }}
{%- endmacro -%}
