{#- The figures of a run in one pass over what is cached: keys and rows per operation, rows per reject reason. -#}
{%- macro count_changes_sql(staged, classified, existing) -%}
select
    'operation' as figure,
    _operation as name,
    count(*) as key_count,
    sum(_copies) as row_count,
    count_if(_exists) as existing_count
from {{ classified }}
group by _operation
union all
select
    'reject' as figure,
    coalesce(staged._reject_reason, 'duplicate_key') as name,
    count(distinct staged._key_hash) as key_count,
    count(*) as row_count,
    count_if(staged._key_hash is null) as existing_count
from {{ staged }} as staged
left join {{ classified }} as classified
    on staged._key_hash = classified._key_hash and classified._operation = 'R'
where staged._reject_reason is not null or classified._key_hash is not null
group by coalesce(staged._reject_reason, 'duplicate_key')
union all
select
    'existing' as figure,
    'rows' as name,
    count(*) as key_count,
    count(*) as row_count,
    count(*) as existing_count
from {{ existing }}
{%- endmacro -%}
