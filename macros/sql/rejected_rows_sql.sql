{#- The rows that a run cannot use, with reason and raw payload: those marked in staging and all rows of a key that came with different payloads. -#}
{%- macro rejected_rows_sql(plan, staged, classified) -%}
select
    coalesce(staged._reject_reason, 'duplicate_key') as _reject_reason,
    staged._key_hash,
    coalesce(staged._raw_payload, {{ tidemark.masked_json_expr(plan['columns'], 'staged') }}) as _raw_payload
from {{ staged }} as staged
left join {{ classified }} as classified
    on staged._key_hash = classified._key_hash and classified._operation = 'R'
where staged._reject_reason is not null or classified._key_hash is not null
{%- endmacro -%}
