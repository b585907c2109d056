{#- Any text as a Spark SQL string literal on one line. `${` is escaped too, or Spark's variable substitution
    would replace it. Needs `spark.sql.parser.escapedStringLiterals` at its default, false. -#}
{%- macro string_literal(text) -%}
    {%- set escaped = text | string
        | replace('\\', '\\\\')
        | replace("'", "\\'")
        | replace('\n', '\\n')
        | replace('\r', '\\r')
        | replace('\x00', '\\u0000')
        | replace('${', '\\u0024{') -%}
    {{ return("'" ~ escaped ~ "'") }}
{%- endmacro -%}

{%- macro string_literals(texts) -%}
    {%- set literals = [] -%}
    {%- for text in texts -%}{%- do literals.append(tidemark.string_literal(text)) -%}{%- endfor -%}
    {{ return(literals | join(', ')) }}
{%- endmacro -%}
