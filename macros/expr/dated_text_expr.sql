{#- A text that is to be cast to a type, NULL if it is a time of day alone and is to be a timestamp: Spark
    would make it one of the day on which it is asked, another one tomorrow. -#}
{%- macro dated_text_expr(text, type) -%}
    {%- if type | lower not in ['timestamp', 'timestamp_ltz'] -%}{{ return(text) }}{%- endif -%}
    {{ return('if(instr(trim(' ~ text ~ "), ':') between 1 and 4, null, " ~ text ~ ')') }}
{%- endmacro -%}
