{#- Every event of the entity's table, typed and hashed, with the reason why it cannot be used (NULL for a
    good one). The columns hold the image that counts: after an INSERT or UPDATE, before a DELETE.
    `_unsupplied` names the columns that an update did not bring (left out, an unavailable TOAST value, a NULL
    that is to be ignored). -#}
{%- macro staged_events_sql(cfg, roles, events, known, stretch) -%}
{%- set before = roles['keys'] if roles['keyed'] else roles['columns'] -%}
{%- set reasons = tidemark.event_reject_reasons(cfg, roles, before) -%}
{%- set rejects_ties = cfg['on_tie'] == 'reject' and tidemark.can_tie(cfg) -%}
{{ tidemark._decoded_events_sql(roles, events, before, stretch) }}

{{ tidemark._judged_events_sql(cfg, roles, before, reasons) }}

{# What tells events apart needs them sorted: they have little more than their values by then. A tie is found
    after that. -#}
narrowed as (
    select
        * except (_raw_payload),
        {%- set payload = "'*** (withheld: the entity has sensitive columns)'" if roles['sensitive']
            else '_raw_payload' %}
        {%- set moves = ' or _unavailable is not null' if tidemark._pairs_moves(cfg) else '' %}
        {{ payload if rejects_ties
            else 'if(_reject_reason is not null' ~ moves ~ ', ' ~ payload ~ ', null)' }} as _raw_payload
    from judged
),

told_apart as (
    {{ tidemark.told_apart_events_sql(cfg, 'narrowed', known) | indent(4) }}
)

{%- if rejects_ties %},

hashed as (
{%- endif %}

select
    * except (
        _image_before, _unsupplied, _kind, _group, _may_be_move {{- ', _departed_key_hash'
            if known.get('departures') }}
        {%- for name in ['_identity', '_content', '_delivery_hash', '_total_order']
            if name not in tidemark.counting_columns(cfg) %}, {{ name }}{% endfor %}
    ),
    {%- for column in before %}
    _image_before.{{ tidemark.quote_identifier(column['name']) }} as {{ tidemark.quote_identifier('_before_'
        ~ column['name']) }},
    {%- endfor %}
    if(_tidemark_effect = 'upsert' and size(_unsupplied) > 0, _unsupplied, null) as _unsupplied,
    _reject_reason is null and not _is_duplicate as _is_usable,
    {%- if roles['keyed'] %}
    {{ tidemark.row_hash_expr(roles['keys'], cfg['hash'],
        only_if="_reject_reason is null and _tidemark_effect in ('upsert', 'delete')")
            | indent(4) }} as _key_hash,
    {{ 'coalesce(_departed_key_hash, ' if known.get('departures') }}{{ tidemark.row_hash_expr(roles['keys'],
        cfg['hash'], '_image_before', only_if=tidemark._has_before_key_expr(cfg, roles)) | indent(4) }}{{ ')'
            if known.get('departures') }} as _before_key_hash
    {%- else %}
    {{ tidemark.row_hash_expr(roles['compared'], cfg['hash'],
        only_if="_reject_reason is null and _tidemark_effect in ('upsert', 'delete')")
            | indent(4) }} as _row_hash,
    {{ tidemark.row_hash_expr(roles['compared'], cfg['hash'], '_image_before',
        only_if="_reject_reason is null and _source_operation = 'UPDATE'") | indent(4) }} as _before_row_hash
    {%- endif %}
from told_apart
{%- if rejects_ties %}
)

{{ tidemark._without_ties_sql(cfg, roles, known) }}
{%- endif %}
{%- endmacro -%}

{#- With `on_tie: reject`: the first of the events at one key and sequence counts, and those of the same
    content; so does what the log has there. Rows of a snapshot are what the source holds, and decided by
    arrival. -#}
{%- macro _without_ties_sql(cfg, roles, known) -%}
{%- set sequence = tidemark.sequence_expr(cfg) -%}
,

contents as (
    select
        *,
        case
            when not _is_usable or _is_snapshot or _tidemark_effect not in ('upsert', 'delete') then null
            when _tidemark_effect = 'delete' then 'deleted'
            else concat_ws('|', {{ tidemark.row_hash_expr(roles['compared'], cfg['hash']) | indent(12) }},
                array_join(array_sort(_unsupplied), '|'))
        end as _tidemark_content
    from hashed
),

firsts as (
    select
        *,
        first_value(_tidemark_content, true) over (
            partition by _key_hash, {{ sequence }}
            order by _landing_num asc nulls last, if(_tidemark_effect = 'delete', 2, 1) asc nulls last,
                _event_id asc nulls last
            rows between unbounded preceding and current row
        ) as _tidemark_first
    from contents
),

tied as (
    select
        firsts.*,
        coalesce(
            {%- if known.get('log') %}
            if(logged._known_contents is null, _tidemark_content <> _tidemark_first,
                not array_contains(logged._known_contents, _tidemark_content)),
            {%- else %}
            _tidemark_content <> _tidemark_first,
            {%- endif %}
            false
        ) as _tidemark_is_tie
    from firsts
    {%- if known.get('log') %}
    left join (
        select
            _key_hash as _known_key_hash,
            {{ sequence }} as _known_sequence,
            collect_set(if(_source_operation = 'DELETE', 'deleted', _row_hash)) as _known_contents
        from {{ known['log'] }}
        where {{ tidemark.in_force_expr() }}
            and _source_operation in ('INSERT', 'READ', 'UPDATE', 'UPSERT', 'MOVE_IN', 'DELETE')
        group by _key_hash, {{ sequence }}
    ) as logged
        on firsts._key_hash = logged._known_key_hash and firsts.{{ sequence }} <=> logged._known_sequence
    {%- endif %}
)

select
    * except (_tidemark_content, _tidemark_first, _tidemark_is_tie, _reject_reason, _raw_payload, _is_usable),
    if(_tidemark_is_tie, {{ tidemark.string_literal('tie: '
        ~ (cfg['sequence_by'] | join(', ') or '_sequence_num')) }}, _reject_reason) as _reject_reason,
    if(_tidemark_is_tie or _reject_reason is not null, _raw_payload, null) as _raw_payload,
    _is_usable and not _tidemark_is_tie as _is_usable
from tied
{%- endmacro -%}

{#- The statement up to the rows of which `sequence_by`, `apply_as_deletes` and `apply_as_truncates` are
    expressions. -#}
{%- macro _decoded_events_sql(roles, events, before, stretch) -%}
{%- if roles.get('decoded') -%}
with decoded as (
    {#- the engine in the workers has read them, and has no doubt of a value #}
    select * from {{ events }}
),
{%- else -%}
{{ tidemark._parsed_events_sql(roles, events, before, stretch) }}
{%- endif -%}
{%- endmacro -%}

{%- macro _parsed_events_sql(roles, events, before, stretch) -%}
with parsed_events as (
    {#- The kind of an event is what its JSON says. Spark would look for it below the parsing, by parsing once
        more for each field that it looks at, if the kind did not depend on the row's being there. #}
    select
        *,
        if(monotonically_increasing_id() >= 0, _kind, null) as _parsed_kind
    from {{ events }}
),

images as (
    select
        * except (_parsed_kind),
        if(_operation = 'DELETE', coalesce(_before, _after), _after) as _image
        {%- if tidemark._reads_by_schema(roles) %},
        md5(_schema_text) as _schema_id
        {%- endif %}
    from parsed_events
    where
        _parsed_kind in ('row', 'truncate', 'unreadable')
        {%- if stretch['from'] %}
        and _landing_num > {{ stretch['from'] }}
        {%- endif %}
        {%- if stretch['to'] %}
        and _landing_num < {{ stretch['to'] }}
        {%- endif %}
),

{% if roles['typed'] -%}
decoded as (
    select
        images.*
        {%- for column in roles['source_columns']
            if column['source_type'] != column['type'] and column['arrived'] %},
        {{ tidemark.cast_expr(column, {}, 'images') }} as {{ tidemark.quote_identifier('_tidemark_value_'
            ~ column['name']) }}
        {%- endfor %}
    from images
),
{%- else -%}
{{ tidemark._decoded_texts_sql(roles, before) }}
{%- endif %}
{%- endmacro -%}

{#- What one of these expressions gives, to be looked at by Spark alone. -#}
{%- macro event_expression_sql(roles, events, stretch, expression) -%}
{{ tidemark._decoded_events_sql(roles, events, roles['keys'] if roles['keyed'] else roles['columns'],
    stretch) | trim | trim(',') }}

select ({{ expression }})
from decoded
{%- endmacro -%}

{#- The truncates of a batch, in landing order. -#}
{%- macro truncates_sql(cfg, roles, events) -%}
{{ tidemark._decoded_events_sql(roles, events, roles['keys'] if roles['keyed'] else roles['columns'],
    {'from': none, 'to': none}) | trim | trim(',') }}

select
    _landing_num,
    _sequence_num,
    _operation,
    md5(concat_ws('|', _identity, _content)) as _event_id
from decoded
where _kind <> 'unreadable' and coalesce(({{ tidemark.truncates_expr(cfg) }}), false)
order by _landing_num asc nulls last, _sequence_num asc nulls last
{%- endmacro -%}

{#- The images as values: texts by column, those that are given, and their types. -#}
{%- macro _decoded_texts_sql(roles, before) -%}
texts as (
    select
        *
        {%- for column in roles['source_columns'] %},
        {{ tidemark._image_text_expr('_image', column) }} as {{ tidemark.quote_identifier('_tidemark_text_'
            ~ column['name']) }}
        {%- endfor %}
        {%- for column in before %},
        {{ tidemark._image_text_expr('_before', column) }} as {{ tidemark.quote_identifier('_tidemark_before_'
            ~ column['name']) }}
        {%- endfor %}
    from images
),

{# A placeholder for an unavailable value is no value, nor is one that is made up, by which rows would be
    ordered; `_tidemark_text_` still tells them from nothing. -#}
given as (
    select
        *
        {%- for column in roles['source_columns'] if not column['key'] %}
        {%- set text = tidemark.quote_identifier('_tidemark_text_' ~ column['name']) %},
        if({{ tidemark.unavailable_expr(text, roles['unavailable_value']) }}{{ ' or '
            ~ tidemark._is_made_up_expr(roles, column) if column.get('orders') }}, null,
                {{ text }}) as {{ tidemark.quote_identifier('_tidemark_given_' ~ column['name']) }}
        {%- endfor %}
        {%- for column in before if not column['key'] %}
        {%- set text = tidemark.quote_identifier('_tidemark_before_' ~ column['name']) %},
        if({{ tidemark.unavailable_expr(text, roles['unavailable_value']) }}, null,
            {{ text }}) as {{ tidemark.quote_identifier('_tidemark_was_' ~ column['name']) }}
        {%- endfor %}
    from texts
),

decoded as (
    select
        *
        {%- for column in roles['source_columns'] %},
        {{ tidemark._decoded_expr(column,
            '_tidemark_text_' if column['key'] else '_tidemark_given_') }}
            as {{ tidemark.quote_identifier(column['name']) }}
        {%- endfor %}
        {%- for column in before %},
        {{ tidemark._decoded_expr(column,
            '_tidemark_before_' if column['key'] else '_tidemark_was_') }}
            as {{ tidemark.quote_identifier('_before_' ~ column['name']) }}
        {%- endfor %}
    from given
),
{%- endmacro -%}

{#- Typed events with what they do to the table, what orders them, and why one cannot be used. -#}
{%- macro _judged_events_sql(cfg, roles, before, reasons) -%}
judged as (
    select
        {%- for column in roles['columns'] %}
        {%- set value = tidemark._typed_value_expr(roles, column) %}
        {%- if not roles['keyed'] %}
        {{ 'if(' ~ tidemark._unsupplied_expr(cfg, roles, column) ~ ' and _operation = \'UPDATE\', '
            ~ tidemark.quote_identifier('_before_' ~ column['name']) ~ ', ' ~ value ~ ')'
            if not roles['typed']
            else value }} as {{ tidemark.quote_identifier(column['name']) }},
        {%- else %}
        {{ value }} as {{ tidemark.quote_identifier(column['name']) }},
        {%- endif %}
        {%- endfor %}
        {{ 'if(' ~ ('not _has_before' if roles.get('decoded') else '_before is null') ~ ', null, '
            if not roles['typed'] }}named_struct(
            {%- for column in before %}
            {{ tidemark.string_literal(column['name']) }},
                {{ tidemark._before_value_expr(roles, column) }} {{- ',' if not loop.last }}
            {%- endfor %}
        ){{ ')' if not roles['typed'] }} as _image_before,
        {#- unlike array_compact(), which is a filter, Spark makes code of it #}
        array_except(array(
            {%- for column in roles['columns'] if not column['key'] %}
            if({{ tidemark._unsupplied_expr(cfg, roles, column) }},
                {{ tidemark.string_literal(column['name']) }}, null),
            {%- for path in tidemark.partial_paths(cfg, roles, column) if not column.get('stays') %}
            if({{ tidemark._missing_field_expr(tidemark._typed_value_expr(roles, column), path) }},
                {{ tidemark.string_literal(path | join('.')) }}, null),
            {%- endfor %}
            {%- endfor %}
            cast(null as string)
        ), array(cast(null as string))) as _unsupplied,
        {%- if tidemark._pairs_moves(cfg) %}
        {{ tidemark._unavailable_column_expr(roles) | indent(8) }} as _unavailable,
        {%- endif %}
        case
            when coalesce(({{ tidemark.truncates_expr(cfg) }}), false)
                then '{{ 'none' if cfg['ddl']['truncate_table'] == 'ignore' else 'truncate' }}'
            when _kind = 'truncate' then 'none'
            when coalesce(({{ cfg['apply_as_deletes'] }}), false) then 'delete'
            else 'upsert'
        end as _tidemark_effect,
        {%- if cfg['sequence_by'] %}
        named_struct(
            {%- for expression in cfg['sequence_by'] %}
            'sequence_{{ loop.index }}', {{ 'cast(' ~ expression ~ ' as '
                ~ roles['sequence_casts'][loop.index0] ~ ')' if loop.index0 in roles['sequence_casts']
                else expression }},
            {%- endfor %}
            'is_stream', not _is_snapshot, 'position', _position, 'supplied_num', _supplied_num
        ) as _sequence_by,
        {%- endif %}
        _sequence_num,
        _landing_num,
        _tidemark_line_num,
        _event_time,
        _transaction_id,
        _operation as _source_operation,
        _is_snapshot,
        _snapshot_mark,
        _database,
        _table,
        _offset,
        _kind,
        _group,
        _identity,
        _content,
        _delivery_hash,
        _total_order,
        _may_be_move,
        {%- if tidemark.counting_columns(cfg) %}
        _is_captured,
        {%- endif %}
        _raw_payload,
        case
            when _kind = 'unreadable' then _problem
            {%- if roles.get('decoded') %}
            when _tidemark_reason is not null then _tidemark_reason
            {%- endif %}
            {%- for reason in reasons %}
            when {{ reason['condition'] }} then {{ reason['text'] }}
            {%- endfor %}
        end as _reject_reason
    from decoded
),
{%- endmacro -%}
