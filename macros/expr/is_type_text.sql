{#- Whether a text is a type of Spark and nothing besides, so that SQL can be made with it wherever it comes
    from: a word, its numbers in brackets, and between angle brackets others like it. -#}
{%- macro is_type_text(text) -%}
    {%- set left = namespace(text=modules.re.sub('`(?:[^`]|``)+`', 'a', text)) -%}
    {%- set left.text = modules.re.sub('[(]\\s*\\d+\\s*(?:,\\s*\\d+\\s*)?[)]', '', left.text) -%}
    {%- for _ in range(left.text.count('<')) -%}{%- set left.text = modules.re.sub('<[\\w\\s,:]*>', '',
        left.text) -%}{%- endfor -%}
    {%- set words = left.text | lower | trim -%}
    {{ return(modules.re.fullmatch('[a-z]\\w*(?: \\w+)*', words) is not none
        and words.split(' ')[0] in tidemark._type_words()) }}
{%- endmacro -%}

{#- Whether Spark shortened a type where it was told, as of a struct of more fields than
    spark.sql.debug.maxToStringFields (25). -#}
{%- macro is_shortened(type) -%}
    {{ return(modules.re.search('[<,]\\s*[.]{3} \\d+ more fields?>', type) is not none) }}
{%- endmacro -%}
