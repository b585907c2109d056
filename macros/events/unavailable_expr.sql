{#- True where the text is what Debezium sends for a value that the database did not log (an unchanged TOAST
    value), in any form that its column type gives it: the text, its bytes in base64 or hexadecimal, an array
    with it, an array of its bytes, a map of it to itself. A text with `hex:` before it is the bytes in
    hexadecimal. False for NULL. -#}
{%- macro unavailable_expr(text, placeholder='__debezium_unavailable_value') -%}
    {%- if placeholder.startswith('hex:') -%}
        {%- set bytes = ''.encode().fromhex(placeholder[4:]) -%}
        {%- set plain = bytes.decode('utf-8', 'replace') -%}
    {%- else -%}
        {%- set bytes = placeholder.encode('utf-8') -%}
        {%- set plain = placeholder -%}
    {%- endif -%}
    {%- set quoted = '"' ~ plain | replace('\\', '\\\\') | replace('"', '\\"') ~ '"' -%}
    {%- set numbers = [] -%}
    {%- for byte in bytes -%}
        {#- a byte of Java has a sign -#}
        {%- do numbers.append(byte - 256 if byte > 127 else byte) -%}
    {%- endfor -%}
    {%- set forms = [] -%}
    {%- for form in [
        plain,
        tidemark._base64_text(bytes),
        bytes.hex(),
        '[' ~ quoted ~ ']',
        '[' ~ numbers | join(',') ~ ']',
        '[' ~ numbers | join(', ') ~ ']',
        '[' ~ bytes | join(',') ~ ']',
        '[' ~ bytes | join(', ') ~ ']',
        '{' ~ quoted ~ ':' ~ quoted ~ '}',
        '{' ~ quoted ~ ': ' ~ quoted ~ '}',
    ] -%}
        {%- if tidemark.string_literal(form) not in forms -%}
            {%- do forms.append(tidemark.string_literal(form)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return('coalesce(' ~ text ~ ' in (' ~ forms | join(', ') ~ '), false)') }}
{%- endmacro -%}

{#- Base64 of bytes or of a list of their values. -#}
{%- macro _base64_text(bytes) -%}
    {%- set alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/' -%}
    {%- set characters = [] -%}
    {%- for group in bytes | list | batch(3) -%}
        {%- set number = group[0] * 65536 + (group[1] if group | length > 1 else 0) * 256
            + (group[2] if group | length > 2 else 0) -%}
        {%- for shift in [262144, 4096, 64, 1][:group | length + 1] -%}
            {%- do characters.append(alphabet[number // shift % 64]) -%}
        {%- endfor -%}
        {%- do characters.append('=' * (3 - group | length)) -%}
    {%- endfor -%}
    {{ return(characters | join) }}
{%- endmacro -%}
