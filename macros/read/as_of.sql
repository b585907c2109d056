{#-
    The rows of an entity as they stood at the end of a business date: current, travelled back. With `known_at` as it was
    known when that commit was the last, that is, before later corrections. For change events also at a moment of the
    source (`by='event_time'`) or at a sequence number (`by='sequence'`), which is included.

        select * from ({{ tidemark.as_of(ref('airports'), '2026-03-04') }})
        select * from ({{ tidemark.as_of(ref('customers'), '2026-03-04 12:00:00', by='event_time') }})
-#}
{%- macro as_of(relation, date, known_at=none, by=none) -%}
{%- do tidemark._check_entity_relation(relation, 'as_of') -%}
{%- set flow = tidemark.flow_of(relation) -%}
{%- do tidemark._check_by(relation, flow, by, 'as_of') -%}
{%- if execute and not date and date != 0 -%}
    {%- do tidemark.raise_error('usage', "as_of needs a date such as '2026-03-04', found: '" ~ date ~ "'") -%}
{%- endif -%}
{%- set is_events = flow['flow'] == 'events' -%}
select
    * except (_business_date, _changed_columns, _commit_id, _superseded_by, _tidemark_rank
    {%- if is_events %}, _batch_id, _source_operation, _event_id, _transaction_id, _offset, _unsupplied, _moved_from{% endif %})
from (
    select
        *,
        row_number() over (partition by _key_hash order by {{ tidemark.log_order_expr(flow) }} desc nulls last) as _tidemark_rank
    from {{ tidemark.log(relation) }}
    where
        {{ tidemark.in_force_expr(tidemark._known_at(relation, known_at, 'as_of')) }}
        {%- if is_events %}
        and _operation in ('I', 'U', 'D')
        {%- endif %}
        and {{ tidemark._until_expr(date, flow, by) if execute else 'true' }}
)
where _tidemark_rank = 1 and _operation <> 'D'
{%- endmacro -%}

{#- The changes up to a moment, which is included. -#}
{%- macro _until_expr(date, flow, by) -%}
    {%- if by == 'event_time' -%}
        {{ return('_event_time <= cast(' ~ tidemark.string_literal(date) ~ ' as timestamp)') }}
    {%- elif by == 'sequence' -%}
        {{ return(tidemark.event_moment_expr(flow, 'sequence') ~ ' <= ' ~ (date if date is number else tidemark.string_literal(date))) }}
    {%- endif -%}
    {{ return("_business_date <= date'" ~ tidemark._business_date(date, 'tidemark.as_of: date') ~ "'") }}
{%- endmacro -%}
