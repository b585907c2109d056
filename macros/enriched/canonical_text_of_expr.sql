{#- A canonical column of atomic events as the text that stands in the TSV; NULL is an empty field. -#}
{%- macro canonical_text_of_expr(column) -%}
    {%- set name = tidemark.quote_identifier(column['name']) -%}
    {%- if column['type'] == 'timestamp' -%}{{ return(tidemark.utc_text_expr(name)) }}{%- endif -%}
    {%- if column['type'] == 'boolean' -%}{{ return('cast(cast(' ~ name ~ ' as int) as string)') }}{%- endif -%}
    {{ return('cast(' ~ name ~ ' as string)') }}
{%- endmacro -%}

{#- A timestamp as it stands in the TSV: UTC, whatever the session's zone is, in milliseconds unless it has more digits. -#}
{%- macro utc_text_expr(moment) -%}
    {%- set texts = [] -%}
    {%- for digits in ['SSS', 'SSSSSS'] -%}
        {%- do texts.append('to_csv(struct(' ~ moment ~ "), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss." ~ digits ~ "'))") -%}
    {%- endfor -%}
    {{ return('if(unix_micros(' ~ moment ~ ') % 1000 = 0, ' ~ texts | join(', ') ~ ')') }}
{%- endmacro -%}
