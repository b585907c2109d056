{#-
    What a date that is loaded late or again does to the log: rows to append, and rows to mark as superseded (those with
    `_supersedes`, the commit that wrote them). `changed` holds the rows that the date should have; what it saw is
    taken away from the next date on which the key was observed, whose row is derived again, so that the log reads as
    if all dates had come in order.

              before          business_date           next observation of the key
        ──────── a ─────────────── b ────────────────────────── c ─────────────
                     diff(a, b) is `changed`      diff(b, c) takes the place of diff(a, c)
-#}
{%- macro revised_rows_sql(cfg, plan, relations, changed, load) -%}
{%- set names = plan['columns'] | map(attribute='name') | list -%}
{%- set fields = tidemark.column_list_expr(names + ['_row_hash']) | replace('\n    ', ' ') -%}
{%- set this_date = "date'" ~ load['business_date'] ~ "'" -%}
with log_in_force as (
    select
        _key_hash,
        _business_date,
        _commit_id,
        _operation,
        _row_hash,
        _changed_columns,
        struct({{ fields }}) as _row
    from (
        {{ tidemark.log_with_sensitive_sql(plan, relations) | indent(8) }}
    )
    where {{ tidemark.in_force_expr() }}
),

wanted_here as (
    select
        _key_hash,
        _operation,
        _row_hash,
        _changed_columns,
        struct({{ fields }}) as _row
    from {{ changed }}
),

logged_here as (
    select * from log_in_force
    where _business_date = {{ this_date }}
),

affected_keys as (
    select _key_hash from wanted_here
    union
    select _key_hash from logged_here
),

rows_before as (
    select
        log_in_force._key_hash,
        max_by(if(_operation = 'D', null, _row), _business_date) as _row
    from log_in_force
    left semi join affected_keys on log_in_force._key_hash = affected_keys._key_hash
    where _business_date < {{ this_date }}
    group by log_in_force._key_hash
),

next_observations as (
    {{ tidemark._next_observations_sql(cfg, relations, load) | indent(4) }}
),

states as (
    select
        affected_keys._key_hash,
        next_observations._business_date as _next_date,
        logged_next._commit_id as _next_commit_id,
        case
            when wanted_here._operation = 'D' then null
            when wanted_here._key_hash is not null then wanted_here._row
            else rows_before._row
        end as _after,
        case
            when logged_next._operation = 'D' then null
            when logged_next._key_hash is not null then logged_next._row
            when logged_here._operation = 'D' then null
            when logged_here._key_hash is not null then logged_here._row
            else rows_before._row
        end as _next
    from affected_keys
    left join wanted_here on affected_keys._key_hash = wanted_here._key_hash
    left join logged_here on affected_keys._key_hash = logged_here._key_hash
    left join rows_before on affected_keys._key_hash = rows_before._key_hash
    left join next_observations on affected_keys._key_hash = next_observations._key_hash
    left join log_in_force as logged_next
        on
            next_observations._key_hash = logged_next._key_hash
            and next_observations._business_date = logged_next._business_date
),

wanted as (
    select
        _key_hash,
        {{ this_date }} as _business_date,
        _operation,
        _row_hash,
        _changed_columns,
        _row
    from wanted_here
    union all
    select
        _key_hash,
        _next_date as _business_date,
        case when _after is null then 'I' when _next is null then 'D' else 'U' end as _operation,
        if(_next is null, _after._row_hash, _next._row_hash) as _row_hash,
        case
            when _after is not null and _next is not null
                then {{ tidemark.changed_columns_expr(plan['compared'], '_after', '_next') | indent(8)
                     if cfg['changed_columns'] else 'cast(null as array<string>)' }}
        end as _changed_columns,
        if(_next is null, _after, _next) as _row
    from states
    where _next_date is not null and not (_after._row_hash <=> _next._row_hash)
),

logged as (
    select * from logged_here
    union all
    select log_in_force.*
    from log_in_force
    inner join states
        on log_in_force._key_hash = states._key_hash and log_in_force._business_date = states._next_date
),

compared as (
    select
        wanted._key_hash as _wanted_key,
        logged._key_hash as _logged_key,
        logged._commit_id as _logged_commit,
        logged._business_date as _logged_date,
        wanted.* except (_key_hash)
    from wanted
    full outer join logged
        on wanted._key_hash = logged._key_hash and wanted._business_date = logged._business_date
    where
        not (
            wanted._operation <=> logged._operation
            and wanted._row_hash <=> logged._row_hash
            and wanted._changed_columns <=> logged._changed_columns
        )
)

select
    {%- for name in names %}
    _row.{{ tidemark.quote_identifier(name) }} as {{ tidemark.quote_identifier(name) }},
    {%- endfor %}
    _wanted_key as _key_hash,
    _row_hash,
    _operation,
    _business_date,
    _business_date as _eff_start_date,
    _changed_columns,
    cast(null as bigint) as _supersedes
from compared
where _wanted_key is not null
union all
select
    {%- for column in plan['columns'] %}
    cast(null as {{ column['type'] }}) as {{ tidemark.quote_identifier(column['name']) }},
    {%- endfor %}
    _logged_key as _key_hash,
    cast(null as string) as _row_hash,
    cast(null as string) as _operation,
    _logged_date as _business_date,
    _logged_date as _eff_start_date,
    cast(null as array<string>) as _changed_columns,
    _logged_commit as _supersedes
from compared
where _logged_key is not null
{%- endmacro -%}


{#-
    The first date after this one on which each affected key was observed. A full extract observes every key but those
    it had to reject; a delta observes the keys that it supplied.
-#}
{%- macro _next_observations_sql(cfg, relations, load) -%}
{%- if cfg['extract'] == 'delta' -%}
select
    supplied._key_hash,
    min(supplied._business_date) as _business_date
from {{ relations['supplied'] }} as supplied
left semi join affected_keys on supplied._key_hash = affected_keys._key_hash
where {{ tidemark._loads_expr(load['later_loads']) }}
group by supplied._key_hash
{%- elif not load['later_loads'] -%}
select
    affected_keys._key_hash,
    cast(null as date) as _business_date
from affected_keys
{%- else -%}
select
    affected_keys._key_hash,
    array_min(array_except(
        array({% for later in load['later_loads'] %}date'{{ later['business_date'] }}'{{ ', ' if not loop.last }}{% endfor %}),
        coalesce(max(unread._business_dates), cast(array() as array<date>))
    )) as _business_date
from affected_keys
left join (
    select
        _key_hash,
        collect_set(_business_date) as _business_dates
    from {{ relations['rejects'] }}
    where _key_hash is not null and {{ tidemark._loads_expr(load['later_loads']) }}
    group by _key_hash
) as unread on affected_keys._key_hash = unread._key_hash
group by affected_keys._key_hash
{%- endif -%}
{%- endmacro -%}


{#- Rows that the last load of each of these dates wrote. -#}
{%- macro _loads_expr(loads) -%}
    {%- set pairs = [] -%}
    {%- for load in loads -%}
        {%- do pairs.append("(date'" ~ load['business_date'] ~ "', " ~ load['commit_id'] ~ ')') -%}
    {%- endfor -%}
    {{ return('(_business_date, _commit_id) in (' ~ pairs | join(', ') ~ ')' if pairs else 'false') }}
{%- endmacro -%}
