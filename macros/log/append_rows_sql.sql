{#- Append a few rows to a table. `rows` have values by column, `columns` name and type; what a row lacks is
    NULL. Moments are texts (UTC). What the adapter does without a statement: see append_rows() there. -#}
{%- macro append_rows_sql(relation, columns, rows) -%}
{%- set tuples = [] -%}
{%- for row in rows -%}
    {%- set expressions = [] -%}
    {%- for column in columns -%}
        {%- do expressions.append(tidemark._typed_literal(row.get(column['name']), column['type'])) -%}
    {%- endfor -%}
    {%- do tuples.append('select\n    ' ~ expressions | join(',\n    ')) -%}
{%- endfor -%}
insert into {{ relation }} (
    {{ tidemark.column_list_expr(columns | map(attribute='name')) }}
)
{{ tuples | join('\nunion all\n') }}
{%- endmacro -%}

{%- macro _typed_literal(value, type) -%}
    {%- if value is none -%}{{ return('cast(null as ' ~ type ~ ')') }}{%- endif -%}
    {%- if type == 'timestamp' -%}{{ return("timestamp'" ~ value ~ "Z'") }}{%- endif -%}
    {%- if type == 'bigint' -%}{{ return('cast(' ~ value ~ ' as bigint)') }}{%- endif -%}
    {{ return('cast(' ~ tidemark.string_literal(value | string) ~ ' as ' ~ type ~ ')') }}
{%- endmacro -%}
