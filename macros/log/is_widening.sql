{#- Whether a stored column can change from one type to the other in place: no value is lost, no hash changes (the canonical text of a
    number does not depend on its type), and the table format can do it. -#}
{%- macro is_widening(from_type, to_type, file_format) -%}
    {%- if file_format == 'parquet' -%}{{ return(false) }}{%- endif -%}
    {%- if file_format == 'iceberg' -%}{{ return(tidemark._is_promotion(from_type, to_type)) }}{%- endif -%}
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

{#- What Iceberg widens: numbers within their family, decimals by digits before the point. It stores small whole numbers as int. -#}
{%- macro _is_promotion(from_type, to_type) -%}
    {%- if from_type.startswith('decimal(') and to_type.startswith('decimal(') -%}
        {%- set source, target = tidemark._precision_and_scale(from_type), tidemark._precision_and_scale(to_type) -%}
        {{ return(target[0] > source[0] and target[1] == source[1]) }}
    {%- endif -%}
    {%- set steps = ['tinyint', 'smallint', 'int', 'bigint'] -%}
    {{ return((from_type, to_type) == ('float', 'double') or (
        from_type in steps and to_type in steps and steps.index(from_type) < steps.index(to_type)
    )) }}
{%- endmacro -%}

{%- macro _precision_and_scale(decimal_type) -%}
    {%- set parts = decimal_type[8:-1].split(',') -%}
    {{ return([parts[0] | int, parts[1] | int]) }}
{%- endmacro -%}
