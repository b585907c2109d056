{#-
    The latest state of every key that a commit touched, as current should have it; `_operation` is D for a key that is
    gone and NULL for one that, after a correction, never was. A load forward only appended the latest rows; anything
    else asks the log. The same statement finishes an interrupted commit.
-#}
{%- macro touched_rows_sql(plan, relations, load) -%}
{%- set stored = plan['stored'] | map(attribute='name') | list -%}
{%- if load['forward'] -%}
select
    {{ tidemark.column_list_expr(stored) }},
    _key_hash,
    _row_hash,
    _operation,
    _eff_start_date
from {{ relations['log'] }}
where _business_date = date'{{ load['business_date'] }}' and _commit_id = {{ load['commit_id'] }}
{%- else -%}
with touched_keys as (
    select distinct _key_hash
    from {{ relations['log'] }}
    where _commit_id = {{ load['commit_id'] }} or _superseded_by = {{ load['commit_id'] }}
),

ranked as (
    select
        log.*,
        row_number() over (partition by log._key_hash order by log._business_date desc nulls last) as _tidemark_rank
    from {{ relations['log'] }} as log
    left semi join touched_keys on log._key_hash = touched_keys._key_hash
    where {{ tidemark.in_force_expr(alias='log') }}
)

select
    {{ tidemark.column_list_expr(stored, 'ranked') }},
    touched_keys._key_hash,
    ranked._row_hash,
    ranked._operation,
    ranked._eff_start_date
from touched_keys
left join ranked on touched_keys._key_hash = ranked._key_hash and ranked._tidemark_rank = 1
{%- endif -%}
{%- endmacro -%}
