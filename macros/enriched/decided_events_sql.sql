{#- What becomes of the lines of a batch, those that are stored as they came left out: `_kind` is `rejected`,
    the two kinds of natural duplicates, which are dropped, or the two of synthetic ones, which get `_new_id`.

        arrived ─► in-batch natural ─► cross-batch natural ─► in-batch synthetic ─► cross-batch synthetic

    `manifest` is none where no step looks across batches. -#}
{%- macro decided_events_sql(cfg, keys, manifest=none, load=none) -%}
{%- set steps = cfg['deduplicate'] -%}
{%- set natural = 'natural_in_batch' in steps or 'natural_cross_batch' in steps -%}
with usable as (
    select * from {{ keys }} where _reject_reason is null
),
{%- if manifest %}

{{ tidemark._claimed_sql(cfg, manifest, load) }}
{%- endif %}

copies as (
    select
        usable._row,
        usable._event_id,
        usable._fingerprint,
        {{ 'claimed._until >= ' ~ tidemark.looked_up_at_expr('usable._etl_tstamp', load) if manifest
            else 'false' }} as _is_claimed,
        {%- if manifest %}
        if(claimed_ids._fingerprint <> usable._fingerprint, claimed_ids._until, claimed_ids._others_until)
            >= {{ tidemark.looked_up_at_expr('usable._etl_tstamp', load) }} as _has_claimed_sibling,
        {%- else %}
        false as _has_claimed_sibling,
        {%- endif %}
        row_number() over (
            partition by usable._event_id, usable._fingerprint
            order by
                usable._etl_tstamp asc nulls last,
                usable._collector_tstamp asc nulls last,
                usable._line_hash asc nulls last,
                usable._row asc nulls last
        ) as _copy
    from usable
    {%- if manifest %}
    left join claimed_ids on usable._event_id = claimed_ids.event_id
    left join claimed on usable._event_id = claimed.event_id and usable._fingerprint = claimed.fingerprint
    {%- endif %}
),

without_copies as (
    select
        *,
        {%- if natural %}
        case
            {%- if 'natural_in_batch' in steps %}
            when _copy > 1 then 'natural_in_batch'
            {%- endif %}
            {%- if 'natural_cross_batch' in steps %}
            when _is_claimed then 'natural_cross_batch'
            {%- endif %}
        end as _dropped
        {%- else %}
        cast(null as string) as _dropped
        {%- endif %}
    from copies
),

siblings as (
    select
        *,
        min(if(_dropped is null, _fingerprint, null)) over (partition by _event_id) as _least,
        max(if(_dropped is null, _fingerprint, null)) over (partition by _event_id) as _greatest
    from without_copies
),

judged as (
    select
        _row,
        _event_id,
        _fingerprint,
        case
            when _dropped is not null then _dropped
            {%- if 'synthetic_in_batch' in steps %}
            when _least <> _greatest then 'synthetic_in_batch'
            {%- endif %}
            {%- if 'synthetic_cross_batch' in steps %}
            when _has_claimed_sibling then 'synthetic_cross_batch'
            {%- endif %}
        end as _kind
    from siblings
)

select
    _row,
    _kind,
    if(startswith(_kind, 'synthetic'), {{ tidemark.synthetic_id_expr('_event_id', '_fingerprint') }},
        null) as _new_id
from judged
where _kind is not null
union all
select
    _row,
    'rejected' as _kind,
    cast(null as string) as _new_id
from {{ keys }}
where _reject_reason is not null
{%- endmacro -%}

{#- What the claims of this batch may have as its etl time where another tool wrote them. -#}
{%- macro _own_etl_tstamps_expr(load) -%}
    {%- set times = [] -%}
    {%- for micros in [load['etl_micros'] | int, load['first_etl_micros'] | int] -%}
        {%- do times.extend(['timestamp_micros(' ~ micros ~ ')',
            'timestamp_seconds(' ~ micros // 1000000 ~ ')']) -%}
    {%- endfor -%}
    {{ return(times | unique | join(', ')) }}
{%- endmacro -%}

{#- The claims of other batches on the ids of this one: by id and fingerprint, until when they hold; and by
    id, that of them which holds longest, and until when another one does. -#}
{%- macro _claimed_sql(cfg, manifest, load) -%}
claimed as (
    select
        claims.event_id,
        claims.fingerprint,
        max({{ 'claims.expires_at' if tidemark.claims_expire(cfg) else "timestamp'9999-12-31 00:00:00'" }})
            as _until
    from {{ manifest }} as claims
    left semi join usable on claims.event_id = usable._event_id
    where
        {{ 'claims.expires_at >= timestamp_micros(' ~ load['first_etl_micros'] ~ ')'
            if tidemark.claims_expire(cfg) else 'true' }}
        and not claims._commit_id <=> {{ load['commit_id'] }}
        {%- if load['undone'] %}
        and {{ tidemark.claim_counts_expr(load) }}
        {%- endif %}
        -- a claim of another tool tells its batch by etl time alone: of its earliest event or of its latest,
        -- perhaps in seconds
        and not (claims._commit_id is null
            and claims.etl_tstamp in ({{ tidemark._own_etl_tstamps_expr(load) }}))
    group by claims.event_id, claims.fingerprint
),

claimed_ids as (
    select
        event_id,
        max(if(_nth = 1, fingerprint, null)) as _fingerprint,
        max(if(_nth = 1, _until, null)) as _until,
        max(if(_nth = 2, _until, null)) as _others_until
    from (
        select
            *,
            row_number() over (partition by event_id order by _until desc nulls last,
                fingerprint asc nulls last) as _nth
        from claimed
    )
    where _nth <= 2
    group by event_id
),
{%- endmacro -%}
