{#- What a batch of events does to the log of a table without key, where equal rows are counted: an insert
    makes one copy more, a delete one less, and copy n of a row is there while the running count is at least
    n. The n-th equal row of a snapshot says that there are at least n copies; the end of the snapshot, that
    there are no more.

        events    +  +  −  +  −  −        copy 1   I ───────────────── D
        count     1  2  1  2  1  0        copy 2      I  D     I  D

    A delete of a copy that is not there does nothing where events count in order of arrival. Where they have
    a sequence, its insert may be still to come: the count goes below zero, and inserts that come after it
    fill that first. -#}
{%- macro replayed_copies_sql(cfg, roles, sources, load) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set values = tidemark.column_list_expr(names) -%}
{%- set meta = tidemark.column_list_expr(tidemark.event_meta_columns(cfg)) -%}
{%- set hash = {'md5': "md5(%s)", 'sha256': "sha2(%s, 256)"}[cfg['hash']] -%}
with steps as (
    {{ tidemark._copy_steps_sql(cfg, roles, sources['staged'], load) | indent(4) }}
),

{% if load['table_events'] -%}
touched_groups as (
    select distinct _tidemark_group from steps
    union
    select distinct _tidemark_group from {{ sources['existing'] }} where _tidemark_group is not null
),
{%- endif %}

timeline as (
    select * from steps
    union all
    select
        {{ values | indent(8) }},
        _tidemark_group,
        _tidemark_step,
        cast(null as bigint) as _tidemark_nth,
        _tidemark_order,
        {{ meta | indent(8) }}
    from {{ sources['existing'] }}
    {%- if load['late'] %}
    where _source_operation not in ('TRUNCATE', 'SNAPSHOT')
    {%- endif %}
    {%- if load['table_events'] %}
    union all
    select
        {%- for column in roles['columns'] %}
        cast(null as {{ column['type'] }}),
        {%- endfor %}
        touched_groups._tidemark_group,
        null,
        null,
        table_events._tidemark_order,
        {{ tidemark.column_list_expr(tidemark.event_meta_columns(cfg), 'table_events') | indent(8) }}
    from touched_groups
    cross join {{ sources['table_events'] }} as table_events
    where table_events._tidemark_effect = 'close'
    {%- endif %}
),

{{ tidemark._copy_counts_sql(values, not tidemark.counts_below_zero(cfg)) }}

{# One row per event, but for the end of many copies one per copy. -#}
copies as (
    select
        *,
        explode(case
            when _tidemark_step is null then if(
                _tidemark_count_before > greatest(_tidemark_count, 0),
                sequence(greatest(_tidemark_count, 0) + 1, _tidemark_count_before), array()
            )
            else array(greatest(
                case when _source_operation = 'READ' then _tidemark_read
                    when _tidemark_step > 0 then _tidemark_count else _tidemark_count_before end, 1
            ))
        end) as _tidemark_copy
    from counts
    where _event_id is not null
),

derived as (
    select
        {%- for name in names %}
        {%- set quoted = tidemark.quote_identifier(name) %}
        if(_tidemark_step is null, _tidemark_image.{{ quoted }}, {{ quoted }}) as {{ quoted }},
        {%- endfor %}
        {{ hash | replace('%s', "concat(_tidemark_group, ':', _tidemark_copy)") }} as _key_hash,
        _tidemark_group,
        _tidemark_group as _row_hash,
        case
            when _tidemark_step is null then 'D'
            when _source_operation = 'READ' then if(_tidemark_count > _tidemark_count_before, 'I', 'N')
            when _tidemark_step > 0 and _tidemark_count >= 1 then 'I'
            when _tidemark_step < 0 and _tidemark_count_before >= 1 then 'D'
            else 'N'
        end as _operation,
        cast(null as array<string>) as _changed_columns,
        cast(null as array<string>) as _unsupplied,
        {%- if load['late'] %}
        _tidemark_order,
        {%- endif %}
        {{ meta | indent(8) }}
    from copies
)

{{ tidemark.log_difference_sql(cfg, roles, sources, load) }}
{%- endmacro -%}

{#- Events as steps of the count of a row: +1, -1, or 0 for an update that changes nothing. -#}
{%- macro _copy_steps_sql(cfg, roles, staged, load) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set sequence = tidemark.sequence_expr(cfg) -%}
select
    {{ tidemark.column_list_expr(names) }},
    _row_hash as _tidemark_group,
    case when _source_operation = 'DELETE' then -1
        when _row_hash = _before_row_hash then 0 else 1 end as _tidemark_step,
    {{ 'cast(_ordinal as bigint)' if '_ordinal' in tidemark.counting_columns(cfg)
        else 'cast(null as bigint)' }} as _tidemark_nth,
    {{ tidemark.place_expr(cfg, sequence, "if(_source_operation = 'DELETE', 2, 1)", '_event_id',
        [load['batch_id'], '_sequence_num']) }} as _tidemark_order,
    {{ tidemark._meta_list(cfg, "if(_before_row_hash <> _row_hash, 'MOVE_IN', _source_operation)") }}
from {{ staged }}
where _is_usable and _tidemark_effect in ('upsert', 'delete')
union all
select
    {%- for column in roles['columns'] %}
    {{ tidemark.quote_identifier('_before_' ~ column['name']) }},
    {%- endfor %}
    _before_row_hash,
    -1,
    cast(null as bigint),
    {{ tidemark.place_expr(cfg, sequence, '2', '_event_id', [load['batch_id'], '_sequence_num']) }},
    {{ tidemark._meta_list(cfg, "'MOVE_OUT'") }}
from {{ staged }}
where _is_usable and _before_row_hash <> _row_hash
{%- endmacro -%}

{#- Whether deletes of copies that are not there are kept in mind: events have a sequence, by which some come
    late. -#}
{%- macro counts_below_zero(cfg) -%}
    {{ return(not cfg['keys'] and tidemark.can_tie(cfg)) }}
{%- endmacro -%}

{#- How many copies of a row there are after each step, and were before it; `never_below` zero or not. -#}
{%- macro _copy_counts_sql(values, never_below) -%}
{%- set before_read = 'coalesce(_tidemark_sum_before_read, 0)'
    ~ (' - least(coalesce(_tidemark_least, 0), 0)' if never_below else '') -%}
{%- set so_far = 'order by _tidemark_order asc nulls first rows between unbounded preceding and current '
    ~ 'row' -%}
segments as (
    select
        *,
        count_if(_tidemark_step is null)
            over (partition by _tidemark_group {{ so_far }}) as _tidemark_segment,
        coalesce(
            _tidemark_nth, count_if(_source_operation = 'READ')
                over (partition by _tidemark_group, _offset {{ so_far }})
        ) as _tidemark_read
    from timeline
),

{# What the segment starts with: nothing after a TRUNCATE, the rows it read after a SNAPSHOT, else what stood.
    -#}
starts as (
    select
        *,
        coalesce(
            last_value(if(_tidemark_step is null,
                if(_source_operation = 'SNAPSHOT', coalesce(_tidemark_reads, 0), 0), null), true)
                over (partition by _tidemark_group {{ so_far }}),
            0
        ) as _tidemark_start
    from (
        select
            *,
            max(if(_source_operation = 'READ', _tidemark_read, null))
                over (partition by _tidemark_group, _offset {{ so_far }}) as _tidemark_reads
        from segments
    )
),

sums as (
    select
        *,
        sum(if(_source_operation = 'READ', 0, _tidemark_step))
            over (partition by _tidemark_group, _tidemark_segment {{ so_far }}) as _tidemark_sum,
        max(if(_source_operation = 'READ', _tidemark_read, null))
            over (partition by _tidemark_group, _tidemark_segment {{ so_far }}) as _tidemark_most,
        last_value(struct({{ values | replace('\n    ', ' ') }}), true) over (
            partition by _tidemark_group order by _tidemark_step is null desc nulls first,
                _tidemark_order asc nulls first
            rows between unbounded preceding and unbounded following
        ) as _tidemark_image
    from starts
),

leveled as (
    select
        *,
        sum(if(_source_operation = 'READ' or _tidemark_most is not null, 0, _tidemark_step)) over (
            partition by _tidemark_group, _tidemark_segment {{ so_far }}
        ) as _tidemark_sum_before_read
        {%- if never_below %},
        min(if(_tidemark_most is null, _tidemark_start + coalesce(_tidemark_sum, 0), null)) over (
            partition by _tidemark_group, _tidemark_segment {{ so_far }}
        ) as _tidemark_least
        {%- endif %}
    from sums
),

counted as (
    select
        *,
        case
            when _tidemark_step is null or _tidemark_most is null
                then _tidemark_start + coalesce(_tidemark_sum,
                    0) {{- ' - least(coalesce(_tidemark_least, 0), 0)' if never_below }}
            else greatest(_tidemark_start + {{ before_read }}, _tidemark_most)
                + coalesce(_tidemark_sum, 0) - coalesce(_tidemark_sum_before_read, 0)
        end as {{ '_tidemark_level' if never_below else '_tidemark_count' }}
    from leveled
),

{% if never_below -%}
held as (
    select
        *,
        _tidemark_level - least(coalesce(min(if(_tidemark_most is null, null, _tidemark_level)) over (
            partition by _tidemark_group, _tidemark_segment {{ so_far }}
        ), 0), 0) as _tidemark_count
    from counted
),
{%- endif %}

counts as (
    select
        *,
        coalesce(lag(_tidemark_count)
            over (partition by _tidemark_group order by _tidemark_order asc nulls first),
                0) as _tidemark_count_before
    from {{ 'held' if never_below else 'counted' }}
),
{%- endmacro -%}
