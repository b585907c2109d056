{#- The value of an arrived column in its declared type, NULL where the text cannot be read as one. Text that
    is empty or blank is NULL in every type but string. -#}
{%- macro cast_expr(column, options, alias) -%}
    {%- if column['source_name'] is none -%}{{ return('cast(null as ' ~ tidemark.quoted_type(column['type'])
        ~ ')') }}{%- endif -%}
    {%- set value = alias ~ '.' ~ tidemark.quote_identifier(column['source_name']) -%}
    {%- if column['source_type'] == column['type'] -%}
        {{ return(value) }}
    {%- elif column['source_type'] != 'string' -%}
        {{ return(tidemark.cast_by_name_expr(value, column['source_type'], column['type'])['value']) }}
    {%- elif tidemark._nested_kind(column['type']) -%}
        {{ return(tidemark.cast_by_name_expr("nullif(trim(" ~ value ~ "), '')", 'string',
            column['type'])['value']) }}
    {%- endif -%}
    {%- set text = "nullif(trim(" ~ value ~ "), '')" -%}
    {%- if column['type'] == 'date' and options.get('dateFormat') -%}
        {{ return('cast(try_to_timestamp(' ~ text ~ ', ' ~ tidemark.string_literal(options['dateFormat'])
            ~ ') as date)') }}
    {%- elif column['type'] in ['timestamp', 'timestamp_ntz'] and options.get('timestampFormat') -%}
        {{ return('cast(try_to_timestamp(' ~ text ~ ', ' ~ tidemark.string_literal(options['timestampFormat'])
            ~ ') as '
            ~ column['type'] ~ ')') }}
    {%- endif -%}
    {{ return('try_cast(' ~ tidemark.dated_text_expr(text, column['type']) ~ ' as ' ~ column['type'] ~ ')') }}
{%- endmacro -%}

{#- True where `arrived` has a value that cast_expr() could not read; none for a column that is not cast. -#}
{%- macro cast_failed_expr(column, arrived) -%}
    {%- if column['source_name'] is none or column['source_type'] == column['type'] -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set value = "nullif(trim(" ~ arrived ~ "), '')" if column['source_type'] == 'string' else arrived -%}
    {%- if tidemark._nested_kind(column['type']) -%}
        {{ return(tidemark.cast_by_name_expr(value, column['source_type'], column['type'])['failed']) }}
    {%- endif -%}
    {{ return(tidemark.quote_identifier(column['name']) ~ ' is null and ' ~ value ~ ' is not null') }}
{%- endmacro -%}
