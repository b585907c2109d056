{#- Entities with their data as typed columns and `_reject_reason`. A column is filled from the property of
    its name, in camel case too (`target_url` from targetUrl), or from the one that it names. -#}
{%- macro typed_entities_sql(columns, body, from_id, to_id, validate=none) -%}
{%- set uri = "concat('iglu:', `schema`.vendor, '/', `schema`.name, '/', `schema`.format, '/', "
    ~ "`schema`.version)" -%}
{%- set problems, values = [], [] -%}
{%- for column in columns -%}
    {%- set value = '_values[' ~ loop.index0 ~ ']' -%}
    {%- set typed = tidemark.variant_value_expr(value, column['type']) -%}
    {%- do values.append(typed['value'] ~ ' as ' ~ tidemark.quote_identifier(column['name'])) -%}
    {%- set failed = tidemark.string_literal('cast_failed: ' ~ column['name']) -%}
    {%- if typed['failed'] -%}
        {%- do problems.append('if(' ~ typed['failed'] ~ ', ' ~ failed ~ ', null)') -%}
    {%- endif -%}
    {%- if column.get('not_null') -%}
        {%- do problems.append('if(' ~ tidemark.is_json_null_expr(value) ~ ', '
            ~ tidemark.string_literal('null_value: ' ~ column['name']) ~ ', null)') -%}
    {%- endif -%}
{%- endfor -%}
with entities as (
    {{ body | trim | indent(4) }}
),

parsed as (
    select
        *,
        try_parse_json(data) as _document
    from entities
    where _commit_id > {{ from_id }} and _commit_id <= {{ to_id }}
),

-- a lateral view, so that Spark does not look the properties up again for each use of a column
opened as (
    select
        parsed.*,
        properties._values
    from parsed
    lateral view outer inline(array(named_struct('_values', array(
        {%- for column in columns %}
        {{ tidemark.property_expr(column, '_document') }}{{ ',' if not loop.last }}
        {%- endfor %}
    )))) properties as _values
)

select
    `schema`,
    hierarchy,
    {%- for value in values %}
    {{ value }},
    {%- endfor %}
    _commit_id,
    {%- if validate %}
    coalesce({{ validate }}({{ uri }}, data), nullif(concat_ws(', ', {{ problems | join(', ') if problems
        else 'null' }}), '')) as _reject_reason,
    {%- else %}
    nullif(concat_ws(', ', {{ problems | join(',\n        ') if problems else 'null' }}),
        '') as _reject_reason,
    {%- endif %}
    concat('{"schema":"', {{ uri }}, '","data":', data, '}') as _raw_payload
from opened
{%- endmacro -%}

{#- The property of a document that fills a column, as a variant; NULL where it is missing. -#}
{%- macro property_expr(column, document) -%}
    {%- set paths = [] -%}
    {%- if column.get('property') -%}
        {%- set path = [] -%}
        {%- for part in ([column['property']] if column.get('is_exact')
            else column['property'].split('.')) -%}
            {%- do path.append(tidemark._member_path(part)) -%}
        {%- endfor -%}
        {%- do paths.append('$' ~ path | join('')) -%}
    {%- else -%}
        {%- set words = column['name'].split('_') -%}
        {%- set camel = words[0] ~ words[1:] | map('capitalize') | join('') -%}
        {%- for name in [column['name'], camel] | unique -%}{%- do paths.append('$'
            ~ tidemark._member_path(name)) -%}{%- endfor -%}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for path in paths -%}
        {%- do found.append('try_variant_get(' ~ document ~ ', ' ~ tidemark.string_literal(path)
            ~ ", 'variant')") -%}
    {%- endfor -%}
    {{ return(found[0] if found | length == 1 else 'coalesce(' ~ found | join(', ') ~ ')') }}
{%- endmacro -%}
