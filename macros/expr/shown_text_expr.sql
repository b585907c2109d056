{#- A line as it is shown: told where it is malformed. -#}
{%- macro shown_text_expr(text, is_malformed) -%}
    {{ return('if(' ~ is_malformed ~ ', ' ~ tidemark.malformed_text_expr(text) ~ ', ' ~ text ~ ')') }}
{%- endmacro -%}

{#- Text that is not UTF-8, told rather than replaced: its first malformed byte, and each byte as the
    character of ISO-8859-1. -#}
{%- macro malformed_text_expr(text) -%}
    {{ return(
        "concat('not UTF-8 (byte 0x', hex(substring(cast(" ~ text
            ~ " as binary), octet_length(substring_index(make_valid_utf8(" ~ text
        ~ "), '\\uFFFD', 1)) + 1, 1)), ', shown as ISO-8859-1): ', decode(cast(" ~ text
            ~ " as binary), 'ISO-8859-1'))"
    ) }}
{%- endmacro -%}
