{#- Claim the events of a batch in the manifest, those that nobody has claimed: check and set, in one atomic
    statement. If two batches come at once, the format lets one through; the other one fails, and finds the
    claims when it is run again. Iceberg does not check a statement that only inserts, so there it could
    update as well, which no row is for. -#}
{%- macro claim_events_sql(cfg, manifest, keys, load) -%}
merge into {{ manifest }} as claims
using (
    select
        _event_id,
        _fingerprint
        {%- if tidemark.claims_expire(cfg) %},
        -- of copies the earliest stays
        {{ 'min' if 'natural_in_batch' in cfg['deduplicate']
            else 'max' }}({{ tidemark.looked_up_at_expr('_etl_tstamp', load) }}) as _looked_up_at
        {%- endif %}
    from {{ keys }}
    where _reject_reason is null and {{ tidemark.still_inflight_expr(load) }}
    group by _event_id, _fingerprint
) as arrived
on
    claims.event_id = arrived._event_id
    and claims.fingerprint = arrived._fingerprint
    {%- if tidemark.claims_expire(cfg) %}
    and claims.expires_at >= arrived._looked_up_at
    {%- endif %}
    {%- if load['undone'] %}
    and {{ tidemark.claim_counts_expr(load) }}
    {%- endif %}
{%- if cfg['file_format'] == 'iceberg' %}
when matched and claims.expires_at is null then update set
    expires_at = claims.expires_at
{%- endif %}
when not matched then insert (
    event_id, fingerprint, etl_tstamp, expires_at, _commit_id
) values (
    arrived._event_id,
    arrived._fingerprint,
    {{ tidemark.etl_tstamp_expr(load) }},
    {{ tidemark.etl_tstamp_expr(load) }} + interval {{ cfg['manifest_ttl'] }},
    {{ load['commit_id'] }}
)
{%- endmacro -%}

{#- Whether a claim is of no commit that was rolled back: a run that was taken for dead may have made it after
    that. -#}
{%- macro claim_counts_expr(load) -%}
    {{ return('coalesce(claims._commit_id not in (' ~ load['undone'] | join(', ') ~ '), true)') }}
{%- endmacro -%}

{#- The etl time of a batch as a literal. -#}
{%- macro etl_tstamp_expr(load) -%}
    {{ return('timestamp_micros(' ~ load['etl_micros'] ~ ')') }}
{%- endmacro -%}

{#- The time at which a claim must hold to be found by an event: its own etl time, whatever came with it. One
    whose clock was ahead, or a file of last year beside one of today, would have the claims of all others
    end. -#}
{%- macro looked_up_at_expr(etl_tstamp, load) -%}
    {{ return('coalesce(' ~ etl_tstamp ~ ', ' ~ tidemark.etl_tstamp_expr(load) ~ ')') }}
{%- endmacro -%}

{#- Whether claims end for a model. Without location each run has all events again, however old, and their
    claims alone tell that they are stored. -#}
{%- macro claims_expire(cfg) -%}
    {{ return(cfg.get('location') not in [none, '']) }}
{%- endmacro -%}

{#- The claims that ended before it `clean` takes away, in microseconds; none without a batch. A batch that
    comes late, though by no more than claims hold, finds what it found before; and no claim is old because a
    clock was ahead. -#}
{%- macro claims_horizon_sql(cfg, commits) -%}
select unix_micros(if(max(etl_tstamp) > current_timestamp(), current_timestamp(),
    max(etl_tstamp)) - interval {{ cfg['manifest_ttl'] }}) as horizon
from {{ commits }}
where state = 'completed' and relation = {{ tidemark.string_literal(cfg['relation']) }}
{%- endmacro -%}
