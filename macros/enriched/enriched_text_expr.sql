{#- A canonical column of atomic events as the text that stands in the TSV; NULL is an empty field. -#}
{%- macro enriched_text_expr(column) -%}
    {%- set name = tidemark.quote_identifier(column['name']) -%}
    {%- if column['type'] == 'timestamp' -%}{{ return(tidemark.utc_text_expr(name)) }}{%- endif -%}
    {%- if column['type'] == 'boolean' -%}
        {{ return('cast(cast(' ~ name ~ ' as int) as string)') }}
    {%- endif -%}
    {{ return('cast(' ~ name ~ ' as string)') }}
{%- endmacro -%}

{#- A timestamp as it stands in the TSV: UTC, whatever the session's zone is, in milliseconds unless it has
    more digits. Not by to_csv(), whose NULL Spark's generated code takes for a value: concat_ws() would leave
    the field out, and other functions fail. -#}
{%- macro utc_text_expr(moment) -%}
    {%- set second = 'timestampadd(second, unix_seconds(' ~ moment
        ~ "), timestamp_ntz'1970-01-01 00:00:00')" -%}
    {%- set micros = "lpad(string(pmod(unix_micros(" ~ moment ~ "), 1000000)), 6, '0')" -%}
    {{ return('concat(string(' ~ second ~ "), '.', left(" ~ micros ~ ', if(unix_micros(' ~ moment
        ~ ') % 1000 = 0, 3, 6)))') }}
{%- endmacro -%}
