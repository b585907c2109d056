{#- Slowly changing dimension, type 2: every version of every row with the interval in which it held.

        date          1     2     3     4     5                   _valid_from  _valid_to  _is_current
        change        I(a)  U(b)  D           I(b)        a       1            2          false
        holds         a ──► b ──► (gap) ────► b ────►     b       2            3          false
                                                          b       5            NULL       true

    Intervals are half-open. They come from the log's rows in force, or, with `known_at`, from those that were
    in force when that commit was the last. An extract's intervals are of business dates, or begin where its
    `effective_from` says; those of change events are of the `sequence` (default), of the `event_time` or of
    the `business_date`, as `by` says. With `deletes` the gap is a row too. With both `axes` each interval has
    another one, of the commits by which it was known. -#}
{%- macro scd2(relation, known_at=none, by=none, deletes=false, open_end=none, columns=none, axes=none) -%}
{%- do tidemark._check_entity_relation(relation, 'scd2') -%}
{%- set flow = tidemark.flow_of(relation) -%}
{%- do tidemark._check_by(relation, flow, by, 'scd2') -%}
{%- set axes = tidemark.axes_of(axes) -%}
{%- do tidemark._check_axes(axes, known_at) -%}
{%- set options = tidemark.interval_options(deletes, open_end, columns, tidemark._interval_unit(flow, by),
    axes) -%}
{%- set in_force = tidemark.in_force_expr(tidemark._known_at(relation, known_at, 'scd2')) -%}
{%- set intervals = tidemark._intervals_sql(relation, flow, by, in_force, options) -%}
{{ tidemark.known_intervals_sql(intervals, options) if options['is_bitemporal'] else intervals }}
{%- endmacro -%}

{#- The intervals of a flow, with both axes those in each span of commits. -#}
{%- macro _intervals_sql(relation, flow, by, in_force, options) -%}
{%- set log_relation = tidemark.log(relation) -%}
{%- if flow['flow'] == 'events' -%}
{{ tidemark.event_intervals_sql(tidemark.tracked_flow(relation, flow), log_relation, in_force,
    by or 'sequence', options) }}
{%- elif flow['effective_from'] and by != 'business_date' -%}
{{ tidemark.effective_intervals_sql(flow['effective_from'], log_relation, in_force, options) }}
{%- else -%}
{{ tidemark.date_intervals_sql(log_relation, in_force, options) }}
{%- endif -%}
{%- endmacro -%}

{#- The intervals of an extract's business dates. -#}
{%- macro date_intervals_sql(log_relation, in_force, options) -%}
{%- set within = '(partition by ' ~ options['per'] ~ ' order by _business_date asc nulls last)' -%}
{%- set rows -%}
select
    *,
    lead(_business_date) over {{ within }} as _valid_to
    {%- if options['is_bitemporal'] %},
    lead(_commit_id) over {{ within }} as _tidemark_closed_by
from {{ tidemark.known_log_sql(log_relation, tidemark.sensitive_key({}), tidemark.is_no_next_date_expr()) }}
    {%- else %}
from {{ log_relation }}
where {{ in_force }}
    {%- endif %}
{%- endset -%}
select
    * except (_operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _valid_to),
    {{ tidemark.interval_columns_expr(options, '_business_date') }}
from (
    {{ (tidemark.closed_in_span_sql(rows) if options['is_bitemporal'] else rows) | indent(4) }}
)
{%- if not options['deletes'] %}
where _operation <> 'D'
{%- endif %}
{%- endmacro -%}

{#- With both axes all that ever was known is asked for. -#}
{%- macro _check_axes(axes, known_at) -%}
    {%- if axes | length > 1 and known_at is not none -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.scd2: known_at is for one axis, as each row of axes: [business, system] has its own '
            ~ 'time. Leave out known_at') -%}
    {%- endif -%}
{%- endmacro -%}

{#- What intervals are of: date, timestamp, sequence, or none for a sequence of several columns. -#}
{%- macro _interval_unit(flow, by) -%}
    {%- if by == 'business_date' or not (flow['flow'] == 'events' or flow['effective_from']) -%}
        {{ return('date') }}
    {%- endif -%}
    {%- if by == 'event_time' or flow['effective_from'] -%}{{ return('timestamp') }}{%- endif -%}
    {{ return('sequence' if flow['sequence_by'] | length < 2 else 'none') }}
{%- endmacro -%}

{#- The commit that `known_at` means, as digits. It is looked up, as there are states that the log does not
    have any more; but not of what is no model of this project, whose commits nobody knows. -#}
{%- macro _known_at(relation, value, macro_name) -%}
    {%- if value is none or not execute -%}{{ return(none) }}{%- endif -%}
    {%- set moment = tidemark.moment_of(value, macro_name ~ ': known_at') -%}
    {%- if moment['kind'] == 'commit' and (graph is not defined or tidemark.node_of(relation) is none) -%}
        {{ return(moment['value']) }}
    {%- endif -%}
    {{ return(tidemark.commit_at(relation, value, macro_name, 'known_at')) }}
{%- endmacro -%}

{#- What an entity's log is ordered by, from the model's configuration in the graph. -#}
{%- macro flow_of(relation) -%}
    {%- set node = tidemark.node_of(relation) if execute and graph is defined else none -%}
    {%- set settings = (node['config'].get('meta') or {}).get('tidemark') if node else none -%}
    {%- if settings is mapping and settings.get('extract') == 'events' -%}
        {%- set cfg = tidemark.entity_config(node) -%}
        {{ return({
            'flow': 'events', 'sequence_by': cfg['sequence_by'], 'on_tie': cfg['on_tie'], 'cfg': cfg,
            'effective_from': none,
            'has_copies': not cfg['keys'],
        }) }}
    {%- endif -%}
    {%- set is_effective = settings is mapping and settings.get('effective_from') -%}
    {{ return({'flow': 'extract', 'sequence_by': [],
        'effective_from': tidemark.entity_config(node)['effective_from'] if is_effective else none}) }}
{%- endmacro -%}

{#- What a reading may go by. Only intervals are those of `effective_from`. -#}
{%- macro _check_by(relation, flow, by, macro_name) -%}
    {%- set allowed = ['sequence', 'event_time', 'business_date'] if flow['flow'] == 'events'
        else (['effective_from'] if flow['effective_from'] and macro_name == 'scd2' else [])
            + ['business_date'] -%}
    {%- if execute and by is not none and by not in allowed -%}
        {%- do tidemark.raise_error('usage',
            'tidemark.' ~ macro_name ~ ': by must be ' ~ allowed | join(' or ') ~ " for "
                ~ relation.identifier ~ ", found: '" ~ by ~ "'"
        ) -%}
    {%- endif -%}
{%- endmacro -%}
