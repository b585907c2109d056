{#- Some of the rows that a load would log: `limit` of each operation, with what they are and what they were
    as JSON texts without sensitive columns, in the order of their keys. `rows` is what the log would be
    written from, `condition` which of them are meant, `before` is SQL of `_key_hash` and the stored columns
    before it. -#}
{%- macro planned_samples_sql(roles, rows, condition, before, limit) -%}
{%- set keys = roles['columns'] | selectattr('key') | rejectattr('sensitive') | list -%}
{%- set order = tidemark._order_of_keys_expr(keys) -%}
with sampled as (
    {%- for operation in ['I', 'U', 'D'] %}
    (
        select *
        from {{ rows }}
        where _operation = '{{ operation }}' and {{ condition }}
        order by {{ order }}
        limit {{ limit }}
    )
    {{- '\n    union all' if not loop.last }}
    {%- endfor %}
)

select
    sampled._operation,
    sampled._business_date,
    to_json(sampled._changed_columns) as _changed_columns,
    {{ tidemark.masked_json_expr(keys, 'sampled') if keys else "'{}'" }} as _key,
    {%- if before %}
    case
        when sampled._operation = 'U'
            and before._key_hash is not null then {{ tidemark.masked_json_expr(roles['stored'], 'before') }}
        when sampled._operation = 'D' then {{ tidemark.masked_json_expr(roles['stored'], 'sampled') }}
    end as _old,
    {%- else %}
    if(sampled._operation = 'D', {{ tidemark.masked_json_expr(roles['stored'], 'sampled') }}, null) as _old,
    {%- endif %}
    if(sampled._operation <> 'D', {{ tidemark.masked_json_expr(roles['stored'], 'sampled') }}, null) as _new
from sampled
{%- if before %}
left join (
    {{ before | indent(4) }}
) as before on sampled._key_hash = before._key_hash and sampled._operation = 'U'
{%- endif %}
order by array_position(array('I', 'U', 'D'), sampled._operation) asc nulls last,
    {{ tidemark._order_of_keys_expr(keys, 'sampled.') }}
{%- endmacro -%}

{%- macro _order_of_keys_expr(keys, prefix='') -%}
    {%- set terms = [] -%}
    {%- for key in keys -%}{%- do terms.append(prefix ~ tidemark.quote_identifier(key['name'])
        ~ ' asc nulls last') -%}{%- endfor -%}
    {{ return((terms + [prefix ~ '_key_hash asc nulls last']) | join(', ')) }}
{%- endmacro -%}
