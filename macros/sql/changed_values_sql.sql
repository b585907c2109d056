{#-
    What the updates of one business date changed, one row per key and column with old and new value as text; of `limit`
    keys, the first by key. Sensitive values are masked.
-#}
{%- macro changed_values_sql(log, keys, columns, business_date, limit) -%}
{%- set names = [] -%}
{%- set old, new = [], [] -%}
{%- for column in columns -%}
    {%- do names.append(tidemark.string_literal(column['name'])) -%}
    {%- for side, values in [('rows_before', old), ('updated_rows', new)] -%}
        {%- set value = side ~ '.' ~ tidemark.quote_identifier(column['name']) -%}
        {%- do values.append('hex(' ~ value ~ ')' if column['type'] == 'binary' else 'cast(' ~ value ~ ' as string)') -%}
    {%- endfor -%}
{%- endfor -%}
{%- set key_values = [] -%}
{%- for key in keys -%}
    {%- do key_values.append('cast(updated_rows.' ~ tidemark.quote_identifier(key) ~ ' as string)') -%}
{%- endfor -%}
with updated_rows as (
    select *
    from {{ log }}
    where _business_date = date'{{ business_date }}' and _operation = 'U' and {{ tidemark.in_force_expr() }}
    order by {{ tidemark.column_list_expr(keys + ['_key_hash']) | replace('\n    ', ' ') }}
    limit {{ limit }}
),

rows_before as (
    select *
    from (
        select
            log.*,
            row_number() over (partition by log._key_hash order by log._business_date desc nulls last) as _tidemark_rank
        from {{ log }} as log
        left semi join updated_rows on log._key_hash = updated_rows._key_hash
        where log._business_date < date'{{ business_date }}' and {{ tidemark.in_force_expr(alias='log') }}
    )
    where _tidemark_rank = 1
),

changes as (
    select
        {{ "concat_ws(', ', " ~ key_values | join(', ') ~ ')' if key_values else 'updated_rows._key_hash' }} as key,
        map_from_arrays(array({{ names | join(', ') }}), array({{ old | join(', ') }})) as old_values,
        map_from_arrays(array({{ names | join(', ') }}), array({{ new | join(', ') }})) as new_values,
        explode(updated_rows._changed_columns) as column_name
    from updated_rows
    inner join rows_before on updated_rows._key_hash = rows_before._key_hash
)

select
    key,
    column_name,
    if(map_contains_key(old_values, column_name), old_values[column_name], '***') as old_value,
    if(map_contains_key(new_values, column_name), new_values[column_name], '***') as new_value
from changes
order by key asc nulls last, column_name asc nulls last
{%- endmacro -%}
