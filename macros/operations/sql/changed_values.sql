{#- The updated keys of one business date, `limit` of them, the first by key: `_tidemark_key` is the key as
    people read it, every column a text. -#}
{%- macro updated_rows_sql(log, keys, columns, business_date, limit) -%}
{%- set key_values = [] -%}
{%- for key in keys -%}{%- do key_values.append('coalesce(cast(' ~ tidemark.quote_identifier(key)
    ~ " as string), 'NULL')") -%}{%- endfor -%}
select
    {{ "concat_ws(', ', " ~ key_values | join(', ') ~ ')' if key_values else '_key_hash' }} as _tidemark_key,
    _key_hash,
    to_json(_changed_columns) as _changed_columns,
    {{ tidemark._texts_expr(columns) }}
from (
    select *
    from {{ log }}
    where _business_date = date'{{ business_date }}' and _operation = 'U' and {{ tidemark.in_force_expr() }}
    order by {{ tidemark.column_list_expr(keys + ['_key_hash']) | replace('\n    ', ' ') }}
    limit {{ limit }}
)
{%- endmacro -%}

{#- What the log has of keys before a business date, every column a text. -#}
{%- macro rows_before_sql(log, columns, key_hashes, business_date) -%}
select
    _key_hash,
    _business_date,
    {{ tidemark._texts_expr(columns) }}
from {{ log }}
where
    _key_hash in ({{ tidemark.string_literals(key_hashes) }})
    and _business_date < date'{{ business_date }}'
    and {{ tidemark.in_force_expr() }}
{%- endmacro -%}

{#- What updates changed, one row per key and column with old and new value; values of columns that the log
    does not have (sensitive ones) are masked. `before` is what rows_before_sql() gave, of which the last row
    of a key counts. -#}
{%- macro changed_values(updated, before) -%}
    {%- set rows_before = {} -%}
    {%- for row in before | sort(attribute='_business_date') -%}
        {%- do rows_before.update({row['_key_hash']: row}) -%}
    {%- endfor -%}
    {%- set changes = [] -%}
    {%- for row in updated if row['_key_hash'] in rows_before and row['_changed_columns'] -%}
        {%- for column in fromjson(row['_changed_columns']) -%}
            {%- do changes.append({
                'key': row['_tidemark_key'],
                'column_name': column,
                'old_value': rows_before[row['_key_hash']].get(column) if column in row else '***',
                'new_value': row[column] if column in row else '***',
            }) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(changes | sort(case_sensitive=true, attribute='key,column_name')) }}
{%- endmacro -%}

{%- macro _texts_expr(columns) -%}
    {%- set terms = [] -%}
    {%- for column in columns -%}
        {%- set name = tidemark.quote_identifier(column['name']) -%}
        {%- do terms.append(('hex(' ~ name ~ ')' if column['type'] == 'binary'
            else 'cast(' ~ name ~ ' as string)') ~ ' as ' ~ name) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro -%}
