{#- One row about a stretch of staged events; with `log`, how many belong before one that it has, and how many
    rows that has of the table as a whole. -#}
{%- macro staged_figures_sql(cfg, roles, staged, log=none) -%}
{%- set sequence = tidemark.comparable_expr(cfg, tidemark.sequence_expr(cfg)) -%}
{%- set moved = '_before_key_hash <> _key_hash' if roles['keyed'] else 'false' -%}
{%- set read = 'if(_is_usable and _is_snapshot and _offset is not null, ' ~ sequence ~ ', null)' -%}
{%- set streamed = 'if(_reject_reason is null and not _is_snapshot, ' ~ sequence ~ ', null)' -%}
select
    count(*) as row_count,
    count_if(_reject_reason is not null) as reject_count,
    count_if(_reject_reason is null and _is_duplicate) as duplicate_count,
    count_if(_is_usable and _tidemark_effect = 'truncate') as truncate_count,
    count_if(_is_usable and {{ moved }}) as move_count,
    count_if(_is_usable and {{ moved }} and _unsupplied is not null) as partial_move_count,
    count_if(_reject_reason like 'unavailable_value: %') as lone_arrival_count,
    count_if(_is_usable and (_tidemark_effect = 'delete' or {{ moved }})) as departure_count,
    coalesce(max(_is_usable and _is_snapshot), false) as has_snapshot,
    coalesce(max(_is_usable and _source_operation = 'READ'), false) as has_reads,
    {#- the end of one is told only where there may have been one before #}
    count_if(_is_usable and _snapshot_mark = 'end') + count(distinct if(
        _is_usable and _snapshot_mark in ('first', 'first_in_data_collection', 'last',
            'last_in_data_collection'), _offset, null
    )) as snapshot_count,
    count(distinct if(_is_usable and _is_snapshot, _offset, null)) as read_count,
    count_if(_is_usable and _is_snapshot and _offset is null) as unplaced_count,
    coalesce(max(_is_usable and _snapshot_mark in ('last', 'last_in_data_collection', 'end')), false)
    or coalesce(min({{ read }}) < max({{ streamed }}), false) as may_end_snapshot,
    coalesce(min({{ streamed }}) < max({{ read }}), false) as reads_later,
    coalesce(max(_is_usable and not _is_snapshot), false) as has_stream,
    coalesce(not max({{ read }}) < max({{ streamed }}), max({{ read }}) is not null) as leaves_open,
    min(if(_is_usable, _sequence_num, null)) as first_num,
    max(if(_is_usable, _sequence_num, null)) as last_num,
    {{ 'count_if(_is_usable and ' ~ sequence ~ ' <= (select max(' ~ sequence ~ ') from ' ~ log ~ '))' if log
        else '0' }} as late_count,
    {{ "(select count_if(_operation = 'T' and " ~ tidemark.in_force_expr() ~ ') from ' ~ log ~ ')' if log
        else 'cast(null as bigint)' }} as table_event_count,
    count(_unsupplied) as partial_count
from {{ staged }}
{%- endmacro -%}
