{#- A change as a typed struct: event_type and the images that are wanted. In `change` columns that did not
    change are NULL. -#}
{%- macro change_struct_expr(roles, images) -%}
    {%- set fields = ["'event_type', " ~ tidemark._event_type_expr()] -%}
    {%- if 'change' in images -%}
        {%- set changed = [] -%}
        {%- for column in roles['stored'] if not column['key'] -%}
            {%- do changed.append(tidemark.string_literal(column['name']) ~ ', '
                ~ tidemark._changed_value_expr(column)) -%}
        {%- endfor -%}
        {%- do fields.append("'change', "
            ~ ('named_struct(\n        ' ~ changed | join(',\n        ') ~ '\n    )' if changed
            else "named_struct()")) -%}
    {%- endif -%}
    {%- for name in ['pre_image', 'post_image'] if name.split('_')[0] in images -%}
        {%- do fields.append("'" ~ name ~ "', _" ~ name) -%}
    {%- endfor -%}
    {{ return('named_struct(\n    ' ~ fields | join(',\n    ') ~ '\n)') }}
{%- endmacro -%}

{#- The same as JSON text. NULLs are written; `change` has only the columns that changed, all of an insert,
    none of a delete. -#}
{%- macro change_json_expr(roles, images) -%}
    {%- set parts = ["'{\"event_type\":\"'", tidemark._event_type_expr(), "'\"'"] -%}
    {%- if 'change' in images -%}
        {%- do parts.extend(["',\"change\":'", tidemark._change_text_expr(roles)]) -%}
    {%- endif -%}
    {%- for name in ['pre_image', 'post_image'] if name.split('_')[0] in images -%}
        {%- do parts.extend(["',\"" ~ name ~ "\":'",
            "coalesce(" ~ tidemark._json_expr('_' ~ name) ~ ", 'null')"]) -%}
    {%- endfor -%}
    {{ return('concat(\n    ' ~ (parts + ["'}'"]) | join(',\n    ') ~ '\n)') }}
{%- endmacro -%}

{%- macro _event_type_expr() -%}
    {{ return("case _operation when 'I' then 'insert' when 'D' then 'delete' else 'update' end") }}
{%- endmacro -%}

{#- JSON with every digit of a time, in UTC whatever the session's zone is. -#}
{%- macro _json_expr(struct, nulls='true') -%}
    {{ return("to_json(" ~ struct ~ ", map('ignoreNullFields', '" ~ ('false' if nulls == 'true' else 'true')
        ~ "', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
        ~ "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS'))") }}
{%- endmacro -%}

{#- A column's new value where it changed: NULL elsewhere, and of a delete. -#}
{%- macro _changed_value_expr(column) -%}
    {%- set after = '_post_image.' ~ tidemark.quote_identifier(column['name']) -%}
    {{ return("if(_operation = 'I' or array_contains(_changed_fields, "
        ~ tidemark.string_literal(column['name']) ~ '), ' ~ after ~ ', null)') }}
{%- endmacro -%}

{%- macro _change_text_expr(roles) -%}
    {%- set values, nulls = [], [] -%}
    {%- for column in roles['stored'] if not column['key'] -%}
        {%- set name = tidemark.string_literal(column['name']) -%}
        {%- do values.append(name ~ ', ' ~ tidemark._changed_value_expr(column)) -%}
        {%- do nulls.append("if((_operation = 'I' or array_contains(_changed_fields, " ~ name
            ~ ')) and _post_image.'
            ~ tidemark.quote_identifier(column['name']) ~ ' is null, '
                ~ tidemark.string_literal(tojson(column['name']) ~ ':null') ~ ', null)') -%}
    {%- endfor -%}
    {%- if not values -%}{{ return("'{}'") }}{%- endif -%}
    {%- set values_text = tidemark._json_expr('named_struct(' ~ values | join(', ') ~ ')', nulls='false') -%}
    {{ return("case\n        when _operation = 'D' then '{}'\n        else concat(\n            '{',\n      "
        ~ "      array_join(array_compact(array(\n                nullif(regexp_extract("
        ~ values_text ~ ", '(?s)^.(.*).$', 1), ''),\n                " ~ nulls | join(',\n                ')
        ~ "\n            )), ','),\n            '}'\n        )\n    end") }}
{%- endmacro -%}
