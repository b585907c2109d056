{%- macro is_utf8(encoding) -%}
    {{ return((encoding or 'UTF-8') | string | lower | replace('_', '-') in ['utf-8', 'utf8']) }}
{%- endmacro -%}
