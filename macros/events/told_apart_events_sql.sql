{#- Events of one table, judged, each with `_event_id` (the same for a redelivered event) and `_is_duplicate`.
    `known` are relations to look redelivered events up in: `log`, and `staging` for a table without key; none
    of both on a first run. Where a change of the key comes as a delete and an insert, the insert gets the
    delete's image (`_tidemark_is_pair`), or, with `departures`, the log of an earlier run, that row's
    `_departed_key_hash`. An insert without its delete that says nothing of a value (`_unavailable`) is a
    reject.

    Rows without key that are equal and share a source position can only be counted: the ordinal of an event
    among its equals is part of its identity. An ordinal starts again where a delivery does, that is, where
    the order within the transaction does not rise, or a snapshot begins. Nothing is counted of changes with
    an identity of their own, nor of a line that is at its place in its file again. -#}
{%- macro told_apart_events_sql(cfg, events, known) -%}
{%- set counted = not cfg['keys'] and cfg['format'] == 'debezium' -%}
{%- set paired = tidemark._pairs_moves(cfg) -%}
{%- set departures = known.get('departures') if paired else none -%}
{%- set is_pair = 'copies._moved_from is not null'
    ~ (' or departures._departed_key_hash is not null' if departures else '') -%}
{%- set is_duplicate = "copies._kind <> 'unreadable' and (copies._is_repeated or copies._copy > 1"
    ~ (' or known_events._event_id is not null' if known.get('log') else '') ~ ')' -%}
with {% if counted -%}
{{ tidemark._counted_events_sql(events, known) }}
{%- else -%}
identified as (
    select
        *,
        false as _is_repeated,
        md5(concat_ws('|', _identity, _content)) as _event_id
        {%- if paired %},
        {#- A change of the key comes as a delete and an insert at one position. #}
        if(
            _may_be_move and lag(_source_operation)
                over (partition by _group order by _landing_num asc nulls last) = 'DELETE',
            lag(_image_before) over (partition by _group order by _landing_num asc nulls last),
            null
        ) as _moved_from
        {%- endif %}
    from {{ events }}
),
{%- endif %}

copies as (
    select
        *,
        row_number() over (
            partition by _group, _event_id order by _is_repeated asc nulls last, _landing_num asc nulls last
        ) as _copy
    from identified
)

select
    copies.* except (_is_repeated, _copy {{- ', _image_before, _moved_from, _reject_reason, _unavailable'
        if paired }}),
    {%- if paired %}
    coalesce(copies._moved_from, copies._image_before) as _image_before,
    {%- if departures %}
    departures._departed_key_hash,
    {%- endif %}
    coalesce(
        copies._reject_reason,
        if({{ is_pair }} or {{ is_duplicate }}, null, 'unavailable_value: ' || copies._unavailable)
    ) as _reject_reason,
    {%- endif %}
    {{ is_pair if paired else 'false' }} as _tidemark_is_pair,
    {{ is_duplicate }} as _is_duplicate
from copies
{%- if known.get('log') %}
left join (select distinct _event_id from {{ known['log'] }}
    where {{ tidemark.in_force_expr() }}) as known_events
    on copies._event_id = known_events._event_id
{%- endif %}
{%- if departures %}
left join (
    select
        _offset,
        _transaction_id,
        any_value(_key_hash) as _departed_key_hash
    from {{ departures }}
    where _operation = 'D' and _source_operation = 'DELETE' and {{ tidemark.in_force_expr() }}
    group by _offset, _transaction_id
    having count(distinct _key_hash) = 1
) as departures
    on copies._may_be_move and copies._moved_from is null and copies._offset = departures._offset
    and copies._transaction_id <=> departures._transaction_id
{%- endif %}
{%- endmacro -%}

{#- Whether a change of the key may come as a delete and an insert. -#}
{%- macro _pairs_moves(cfg) -%}
    {{ return(cfg['keys'] | length > 0 and cfg['format'] == 'debezium') }}
{%- endmacro -%}

{#- Events without key, with an identity that their ordinal among equals is part of. -#}
{%- macro _counted_events_sql(events, known) -%}
{%- set base = 'partition by _group, _identity, _content' -%}
deliveries as (
    select
        ours.*,
        {{ 'known_lines._delivery_hash is not null or known_places._known_line is not null or'
            if known.get('staging') }} (ours._delivery_hash is not null and row_number() over (
            {{ base }}, ours._delivery_hash order by ours._landing_num asc nulls last
        ) > 1) as _is_repeated,
        ours._kind = 'row' and (
            coalesce(ours._snapshot_mark in ('first', 'first_in_data_collection'), false)
            or coalesce(ours._total_order <= lag(ours._total_order) over (
                partition by ours._group, ours._transaction_id order by ours._landing_num asc nulls last
            ), false)
        ) as _is_start
    from {{ events }} as ours
    {%- if known.get('staging') %}
    left join (select distinct _delivery_hash from {{ known['staging'] }}) as known_lines
        on ours._delivery_hash = known_lines._delivery_hash
    left join (
        select distinct
            _landing_num as _known_line,
            _identity as _known_identity,
            _content as _known_content
        from {{ known['staging'] }}
    ) as known_places
        on
            ours._tidemark_line_num = known_places._known_line
            and ours._identity = known_places._known_identity
            and ours._content = known_places._known_content
    {%- endif %}
),

delivered as (
    select
        *,
        sum(if(_is_start and not _is_repeated, 1, 0)) over (
            partition by _offset, _transaction_id, _is_snapshot
            order by _landing_num asc nulls last
            rows between unbounded preceding and current row
        ) as _delivery
    from deliveries
),

counted as (
    select
        delivered.* except (_delivery, _is_captured),
        if({{ tidemark._has_own_place_expr() }}, 1, row_number() over (
            {{ base }}, _is_repeated, _delivery order by _landing_num asc nulls last
        ) {%- if known.get('staging') %} + if(
            delivered._delivery = 0
            and (delivered._total_order is null
                or delivered._total_order > coalesce(counted_before._known_order, 0)),
            coalesce(counted_before._known_copies, 0),
            0
        ) {%- endif %}) as _ordinal
    from delivered
    {%- if known.get('staging') %}
    left join (
        select
            _identity as _known_identity,
            _content as _known_content,
            count(distinct _event_id) as _known_copies,
            max(_total_order) as _known_order
        from {{ known['staging'] }}
        group by _identity, _content
    ) as counted_before
        on delivered._identity = counted_before._known_identity
            and delivered._content = counted_before._known_content
    {%- endif %}
),

identified as (
    select
        *,
        md5(concat_ws('|', _identity, _content, if(_kind = 'row', _ordinal, null))) as _event_id
    from counted
),
{%- endmacro -%}

{#- Whether an event without key has an identity that no other one has, so that nothing is to be counted: one
    that capture has landed, or a change that MySQL or MariaDB tell with file, position and row, SQL Server
    with both LSNs and the serial number. The rows of a COPY of PostgreSQL share one, and so do those of a
    snapshot. -#}
{%- macro _has_own_place_expr() -%}
    {%- set places = ["_identity like 'mysql|%:%:%|%'", "_identity like 'mariadb|%:%:%|%'",
        "_identity like 'sqlserver|%|% %|%|%'"] -%}
    {{ return("_source_operation <> 'READ' and (_is_captured or " ~ places | join(' or ') ~ ')') }}
{%- endmacro -%}
