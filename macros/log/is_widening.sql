{#-
    Whether a stored column can change from one type to the other in place: no value is lost, no hash changes (the
    canonical text of a number does not depend on its type), and the table format can do it.
-#}
{%- macro is_widening(from_type, to_type, file_format) -%}
    {%- if file_format != 'delta' -%}{{ return(false) }}{%- endif -%}
    {%- set digits = {'tinyint': 3, 'smallint': 5, 'int': 10, 'bigint': 20} -%}
    {%- set whole = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {%- if from_type in whole and to_type in whole -%}
        {{ return(whole.index(from_type) < whole.index(to_type)) }}
    {%- elif to_type == 'double' -%}
        {{ return(from_type in ['float', 'tinyint', 'smallint', 'int']) }}
    {%- elif to_type.startswith('decimal(') -%}
        {%- set target = tidemark._precision_and_scale(to_type) -%}
        {%- if from_type in whole -%}
            {{ return(target[0] - target[1] >= digits[from_type]) }}
        {%- elif from_type.startswith('decimal(') -%}
            {%- set source = tidemark._precision_and_scale(from_type) -%}
            {{ return(target != source and target[1] >= source[1] and target[0] - target[1] >= source[0] - source[1]) }}
        {%- endif -%}
    {%- endif -%}
    {{ return(false) }}
{%- endmacro -%}


{%- macro _precision_and_scale(decimal_type) -%}
    {%- set parts = decimal_type[8:-1].split(',') -%}
    {{ return([parts[0] | int, parts[1] | int]) }}
{%- endmacro -%}
