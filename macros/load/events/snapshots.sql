{#- Whether a snapshot ends with the batch that is not the log's first one, so that what it has not read is to be closed. -#}
{%- macro may_close_snapshot(opened, seen, was_open) -%}
    {%- if opened['state']['first'] -%}
        {#- A snapshot that was cut and began again may have read what was gone the second time. -#}
        {{ return(seen['snapshot_count'] | int > 1
            or (opened['cfg']['format'] != 'debezium' and seen['may_end_snapshot'] and (seen['reads_later'] or seen['read_count'] | int > 1))) }}
    {%- endif -%}
    {%- if seen['unplaced_count'] | int > 0 -%}
        {%- do tidemark.warn(opened['cfg']['entity'],
            'rows that a snapshot read come without `_offset`, so that nothing tells which rows it has not read: those stay (' ~ seen['unplaced_count'] ~ ' rows)') -%}
    {%- endif -%}
    {{ return((seen['has_snapshot'] and seen['may_end_snapshot']) or (was_open is not none and seen['has_stream'])) }}
{%- endmacro -%}

{#- The commit since which the log has rows of a snapshot that later events end; none: there is no such snapshot. Rows of Debezium tell the
    end themselves. -#}
{%- macro opened_snapshot(opened, planned, seen, was_open, is_overtaken) -%}
    {%- set is_later = not opened['state']['first'] or seen['reads_later'] or seen['read_count'] | int > 1 -%}
    {%- if opened['cfg']['format'] == 'debezium' -%}
        {{ return(none) }}
    {%- elif was_open is not none and (is_overtaken or not seen['has_stream'] or seen['leaves_open']) -%}
        {{ return(was_open) }}
    {%- endif -%}
    {{ return(planned['commit_id'] if seen['leaves_open'] and is_later else none) }}
{%- endmacro -%}
