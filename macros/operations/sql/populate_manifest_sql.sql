{#- Days of stored events that are to be claimed, with their number of events. -#}
{%- macro population_days_sql(source, done_to, first_day) -%}
{%- set day = tidemark._population_day_expr(source) -%}
select
    {{ day }} as _day,
    count(*) as _event_count
from {{ source['relation'] }}
where
    {{ day }} is not null
    {%- if first_day %}
    and {{ day }} >= date'{{ first_day }}'
    {%- endif %}
    {%- if done_to %}
    and {{ day }} > date'{{ done_to }}'
    {%- endif %}
group by _day
order by _day asc nulls last
{%- endmacro -%}

{#- Claim a day's events of `source` (its `relation` and the `names` of its columns), under the ids that they
    came with; what is claimed for as long is not claimed again. -#}
{%- macro populate_manifest_sql(cfg, manifest, source, day, commit_id) -%}
merge into {{ manifest }} as claims
using (
    with texts as (
        select
            {%- for column in tidemark.enriched_columns() %}
            {{ tidemark.enriched_text_expr(column) if column['name'] in source['names']
                else 'cast(null as string)' }} as {{ tidemark.quote_identifier(column['name']) }},
            {%- endfor %}
            {{ tidemark._population_time_expr(source) }} as _etl_tstamp
        from {{ source['relation'] }}
        where {{ tidemark._population_day_expr(source) }} = date'{{ day }}'
    ),

    arrived as (
        select
            {{ tidemark.original_id_expr() }} as _event_id,
            {{ tidemark.fingerprint_expr(cfg['fingerprint_ignore']) }} as _fingerprint,
            _etl_tstamp
        from texts
    )

    select
        _event_id,
        _fingerprint,
        max(_etl_tstamp) as _etl_tstamp
    from arrived
    where _event_id is not null
    group by _event_id, _fingerprint
) as arrived
on
    claims.event_id = arrived._event_id
    and claims.fingerprint = arrived._fingerprint
    and claims.expires_at >= arrived._etl_tstamp + interval {{ cfg['manifest_ttl'] }}
when not matched then insert (
    event_id, fingerprint, etl_tstamp, expires_at, _commit_id
) values (
    arrived._event_id,
    arrived._fingerprint,
    arrived._etl_tstamp,
    arrived._etl_tstamp + interval {{ cfg['manifest_ttl'] }},
    {{ commit_id }}
)
{%- endmacro -%}

{#- The etl time of an event of `source`, which may have no column of it. -#}
{%- macro _population_time_expr(source) -%}
    {{ return('coalesce(etl_tstamp, collector_tstamp)' if 'etl_tstamp' in source['names']
        else 'collector_tstamp') }}
{%- endmacro -%}

{#- The day of that. -#}
{%- macro _population_day_expr(source) -%}
    {{ return('cast(' ~ tidemark._population_time_expr(source) ~ ' as date)') }}
{%- endmacro -%}
