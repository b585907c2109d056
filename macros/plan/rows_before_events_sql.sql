{#- The rows that stood before a batch of events, for its samples: those of current, less the keys that have
    more than one change in the batch, of which current tells only what was before the first. -#}
{%- macro rows_before_events_sql(roles, current, rows) -%}
select
    {{ tidemark.column_list_expr(roles['stored'] | map(attribute='name'), 'current') }},
    current._key_hash
from {{ current }} as current
left anti join (
    select _key_hash
    from {{ rows }}
    where _key_hash is not null and _operation in ('I', 'U', 'D')
    group by _key_hash
    having count(*) > 1
) as changed_often on current._key_hash = changed_often._key_hash
{%- endmacro -%}
