{#- A commit id: the moment as yyMMddHHmmssSSS (UTC), or one more than the last if the clock is behind it. -#}
{%- macro next_commit_id(last_id) -%}
    {%- set now = modules.datetime.datetime.now(modules.pytz.utc).strftime('%y%m%d%H%M%S%f')[:15] | int -%}
    {{ return([now, (last_id or 0) + 1] | max) }}
{%- endmacro -%}

{#- This moment as text (UTC). -#}
{%- macro utc_now() -%}
    {{ return(tidemark.utc_text(modules.datetime.datetime.now(modules.pytz.utc))) }}
{%- endmacro -%}

{#- This moment as text, or one that is after `before`, where the clock is not: of the states of a commit the
    last one holds. -#}
{%- macro utc_now_after(before) -%}
    {%- set now = tidemark.utc_now() -%}
    {%- if not before or now > before -%}{{ return(now) }}{%- endif -%}
    {%- set next = modules.datetime.datetime.fromisoformat(before)
        + modules.datetime.timedelta(microseconds=1) -%}
    {{ return(next.strftime('%Y-%m-%d %H:%M:%S.%f')) }}
{%- endmacro -%}

{#- A moment that has a time zone as text (UTC), for record_commit(). -#}
{%- macro utc_text(moment) -%}
    {{ return(moment.astimezone(modules.pytz.utc).strftime('%Y-%m-%d %H:%M:%S.%f') if moment else none) }}
{%- endmacro -%}

{#- The same of microseconds since 1970: the timestamps of query_rows() are local times, by some adapters this
    process's, by others the session's. -#}
{%- macro utc_text_of_micros(micros) -%}
    {%- set epoch = modules.datetime.datetime(1970, 1, 1, tzinfo=modules.pytz.utc) -%}
    {{ return(tidemark.utc_text(epoch + modules.datetime.timedelta(microseconds=micros | int))) }}
{%- endmacro -%}
