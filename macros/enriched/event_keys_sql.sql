{#- What de-duplication needs of each event, and why a line is rejected: narrow, so that what follows moves a
    few dozen bytes per event. `_line_hash` breaks ties, so that the same one of several copies stays in every
    run. Beside it the columns that rules see, where there are some. -#}
{%- macro event_keys_sql(cfg, events, for_rules=false) -%}
{%- set typed = {} -%}
{%- for column in tidemark.enriched_columns() -%}
    {%- do typed.update({column['name']: tidemark.quote_identifier(column['name']) if cfg['is_rows']
        else tidemark.enriched_value_expr(column)}) -%}
{%- endfor -%}
{%- set envelopes = [] if cfg['is_rows'] else ['contexts', 'unstruct_event', 'derived_contexts'] -%}
{%- set problems = [] -%}
{%- for column in tidemark.enriched_columns() if not cfg['is_rows'] -%}
    {%- set problem = tidemark.enriched_problem_expr(column, '_' ~ column['name']
        if column['name'] in envelopes else none) -%}
    {%- if problem -%}{%- do problems.append(problem) -%}{%- endif -%}
{%- endfor -%}
with opened as (
    select
        *
        {%- for name in envelopes %},
        {{ tidemark.envelope_expr(name) }} as _{{ name }}
        {%- endfor %}
    from {{ events }}
)

select
    _row,
    lower({{ 'coalesce(_original_id, event_id)' if cfg['is_rows'] else 'event_id' }}) as _event_id,
    {{ tidemark.fingerprint_expr(cfg['fingerprint_ignore']) if not cfg['is_rows']
        else 'event_fingerprint' }} as _fingerprint,
    {{ typed['etl_tstamp'] }} as _etl_tstamp,
    {{ typed['collector_tstamp'] }} as _collector_tstamp,
    xxhash64(_line) as _line_hash,
    {%- if for_rules %}
    {%- for name, value in typed.items() %}
    {{ value }} as {{ tidemark.quote_identifier(name) }},
    {%- endfor %}
    {%- endif %}
    {%- if problems %}
    coalesce(_unreadable, nullif(concat_ws(', ',
        {{ problems | join(',\n        ') }}
    ), '')) as _reject_reason
    {%- else %}
    _unreadable as _reject_reason
    {%- endif %}
from opened
{%- endmacro -%}

{#- The same of events that are held to rules: those that one rejects are told as such, and of each rule
    whether the event fails it. -#}
{%- macro ruled_event_keys_sql(cfg, typed) -%}
select
    _row,
    _event_id,
    _fingerprint,
    _etl_tstamp,
    _collector_tstamp,
    _line_hash,
    {%- for rule in cfg['rules'] %}
    _reject_reason is null and not ({{ rule['check'] }}) as _fails_{{ loop.index }},
    {%- endfor %}
    {{ tidemark.reason_by_rules(cfg) | indent(4) }}
from {{ typed }}
{%- endmacro -%}

{#- How many events fail each rule, in one row, by its number. -#}
{%- macro event_rule_counts_sql(cfg, keys) -%}
select
    {%- for rule in cfg['rules'] %}
    count_if(_fails_{{ loop.index }}) as rule_{{ loop.index }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ keys }}
{%- endmacro -%}

{#- One row of figures about a batch; the etl time of the batch is the greatest of its events, in
    microseconds; beside it the least. -#}
{%- macro batch_figures_sql(keys) -%}
select
    count(*) as rows_read,
    count_if(_reject_reason is not null) as rows_rejected,
    unix_micros(coalesce(
        max(_etl_tstamp) filter (where _reject_reason is null),
        max(_collector_tstamp) filter (where _reject_reason is null)
    )) as etl_micros,
    unix_micros(coalesce(
        min(_etl_tstamp) filter (where _reject_reason is null),
        min(_collector_tstamp) filter (where _reject_reason is null)
    )) as first_etl_micros
from {{ keys }}
{%- endmacro -%}

{#- Rejected lines of a batch with their reasons, from what arrived: to find them no line is parsed again. -#}
{%- macro rejected_lines_sql(arrived, keys, payload) -%}
select
    keys._reject_reason,
    make_valid_utf8({{ payload }}) as _raw_payload
from {{ arrived }} as arrived
inner join {{ keys }} as keys on arrived._row = keys._row
where keys._reject_reason is not null
{%- endmacro -%}
