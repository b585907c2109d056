{#- The latest state of every key that a commit touched, as current should have it; `_operation` is D for a
    key that is gone and NULL for one that, after a correction, never was. A load forward only appended the
    latest rows, which are in `load.touched` too while its run goes on; anything else asks the log. The same
    statement finishes an interrupted commit. -#}
{%- macro touched_rows_sql(roles, relations, load) -%}
{%- set names = tidemark.current_names(roles) -%}
{%- if load['forward'] and roles.get('flow') == 'events' -%}
select
    {{ tidemark.column_list_expr(names) }}
from (
    select
        *,
        row_number() over (partition by _key_hash
            order by {{ tidemark.log_order_expr(roles) }} desc nulls last) as _tidemark_rank
    from {{ load.get('touched') or relations['log'] }}
    where
        _operation in ('I', 'U', 'D')
        {%- if not load.get('touched') %}
        and _business_date = date'{{ load['business_date'] }}'
        and _commit_id = {{ load['commit_id'] }}
        {%- endif %}
)
where _tidemark_rank = 1
{%- elif load['forward'] -%}
select
    {{ tidemark.column_list_expr(names) }}
from {{ load.get('touched') or relations['log'] }}
{%- if not load.get('touched') %}
where _business_date = date'{{ load['business_date'] }}' and _commit_id = {{ load['commit_id'] }}
{%- endif %}
{%- else -%}
with touched_keys as (
    select distinct _key_hash
    from {{ relations['log'] }}
    where _commit_id = {{ load['commit_id'] }} or _superseded_by = {{ load['commit_id'] }}
),

ranked as (
    select
        log.*,
        row_number() over (partition by log._key_hash
            order by {{ tidemark.log_order_expr(roles, 'log') }} desc nulls last) as _tidemark_rank
    from {{ relations['log'] }} as log
    left semi join touched_keys on log._key_hash = touched_keys._key_hash
    where {{ tidemark.change_in_force_expr(roles, 'log') }}
)

select
    {{ tidemark.column_list_expr(names | reject('equalto', '_key_hash'), 'ranked') }},
    touched_keys._key_hash
from touched_keys
left join ranked on touched_keys._key_hash = ranked._key_hash and ranked._tidemark_rank = 1
{%- endif -%}
{%- endmacro -%}

{#- The keys that a commit touched, at most one more than `limit`. -#}
{%- macro touched_keys_sql(relations, load, limit) -%}
{%- set conditions = ['_key_hash is not null'] -%}
{%- if not load['forward'] -%}
    {%- set conditions = ['(_commit_id = ' ~ load['commit_id'] ~ ' or _superseded_by = ' ~ load['commit_id']
        ~ ')'] + conditions -%}
{%- elif not load.get('touched') -%}
    {%- set conditions = ["_business_date = date'" ~ load['business_date'] ~ "'",
        '_commit_id = ' ~ load['commit_id']] + conditions -%}
{%- endif -%}
select distinct _key_hash
from {{ load.get('touched') or relations['log'] }}
where
    {{ conditions | join('\n    and ') }}
limit {{ limit + 1 }}
{%- endmacro -%}
