{#-
    The hash of a row's (or a key's) text, in lower-case hexadecimal: 32 characters for `md5` and `xxhash64x2`, 64 for
    `sha256`. Use it in a projection of its own, not inside a `case`: there Spark computes every value's text twice.
-#}
{%- macro row_hash_expr(columns, algorithm, relation_alias=none) -%}
    {%- set text = tidemark.row_text_expr(columns, relation_alias) -%}
    {%- if algorithm == 'md5' -%}
        {{ return('md5(' ~ text ~ ')') }}
    {%- elif algorithm == 'sha256' -%}
        {{ return('sha2(' ~ text ~ ', 256)') }}
    {%- elif algorithm == 'xxhash64x2' -%}
        {{ return(
            "lower(concat(lpad(hex(xxhash64(" ~ text ~ ")), 16, '0'), lpad(hex(xxhash64('tidemark', " ~ text ~ ")), 16, '0')))"
        ) }}
    {%- endif -%}
    {%- do exceptions.raise_compiler_error(
        'unknown hash algorithm ' ~ algorithm ~ ': use md5, sha256 or xxhash64x2'
    ) -%}
{%- endmacro -%}
