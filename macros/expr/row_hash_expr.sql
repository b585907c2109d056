{#- The hash of a row's (or a key's) text, in lower-case hexadecimal: 32 characters for `md5`, 64 for
    `sha256`. With `only_if`, NULL where that condition does not hold.

    Do not put it inside a `case`: within a branch Spark computes a text again each time it occurs (measured
    on a million rows of ten columns: 5 s become 10 s for md5). Hence `only_if`, a concat with NULL. -#}
{%- macro row_hash_expr(columns, algorithm, relation_alias=none, only_if=none) -%}
    {%- set text = tidemark.row_text_expr(columns, relation_alias) -%}
    {%- if algorithm == 'md5' -%}
        {%- set hash = 'md5(' ~ text ~ ')' -%}
    {%- elif algorithm == 'sha256' -%}
        {%- set hash = 'sha2(' ~ text ~ ', 256)' -%}
    {%- else -%}
        {%- do tidemark.raise_error('configuration',
            'unknown hash algorithm ' ~ algorithm ~ ': use md5 or sha256') -%}
    {%- endif -%}
    {{ return('concat(' ~ hash ~ ', case when ' ~ only_if ~ " then '' end)" if only_if else hash) }}
{%- endmacro -%}
