{#- Whether a text is one JSON value and nothing else: Spark's parser passes over whatever follows the first.
    As an element of an array it is followed by another one. `options` are those of from_json(), with the
    comma before them; none: plain JSON. -#}
{%- macro is_one_json_expr(text, options=none) -%}
    {%- set array = "concat('[', " ~ text ~ ", ',0]')" -%}
    {{ return('json_array_length(' ~ array ~ ') <=> 2' if options is none
        else 'size(from_json(' ~ array ~ ", 'array<string>'" ~ options ~ ')) <=> 2') }}
{%- endmacro -%}
