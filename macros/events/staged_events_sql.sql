{#- Every event of the entity's table, typed and hashed, with the reason why it cannot be used (NULL for a good one). The columns hold
    the image that counts: after an INSERT or UPDATE, before a DELETE. `_unsupplied` names the columns that an update did not bring
    (left out, an unavailable TOAST value, a NULL that is to be ignored). -#}
{%- macro staged_events_sql(cfg, plan, events, known, stretch) -%}
{%- set before = plan['keys'] if plan['keyed'] else plan['columns'] -%}
{%- set reasons = tidemark._event_reject_reasons(cfg, plan, before) -%}
{%- set rejects_ties = cfg['on_tie'] == 'reject' and tidemark.can_tie(cfg) -%}
with parsed_events as (
    {#- The kind of an event is what its JSON says. Spark would look for it below the parsing, by parsing once more for
        each field that it looks at, if the kind did not depend on the row's being there. #}
    select
        *,
        if(monotonically_increasing_id() >= 0, _kind, null) as _parsed_kind
    from {{ events }}
),

images as (
    select
        * except (_parsed_kind),
        if(_operation = 'DELETE', coalesce(_before, _after), _after) as _image
        {%- if tidemark._reads_by_schema(plan) %},
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

{% if plan['typed'] -%}
decoded as (
    select
        images.*
        {%- for column in plan['source_columns'] if column['source_type'] != column['type'] and column['arrived'] %},
        {{ tidemark.cast_expr(column, {}, 'images') }} as {{ tidemark.quote_identifier('_tidemark_value_' ~ column['name']) }}
        {%- endfor %}
    from images
),
{%- else -%}
{{ tidemark._decoded_texts_sql(plan, before) }}
{%- endif %}

{{ tidemark._judged_events_sql(cfg, plan, before, reasons) }}

{# What tells events apart needs them sorted: they have little more than their values by then. A tie is found after that. -#}
narrowed as (
    select
        * except (_raw_payload),
        {%- set payload = "'*** (withheld: the entity has sensitive columns)'" if plan['sensitive'] else '_raw_payload' %}
        {%- set moves = ' or _unavailable is not null' if tidemark._pairs_moves(cfg) else '' %}
        {{ payload if rejects_ties else 'if(_reject_reason is not null' ~ moves ~ ', ' ~ payload ~ ', null)' }} as _raw_payload
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
        _image_before, _unsupplied, _kind, _group, _may_be_move {{- ', _departed_key_hash' if known.get('departures') }}
        {%- for name in ['_identity', '_content', '_delivery_hash', '_total_order'] if name not in tidemark.counting_columns(cfg) %}, {{ name }}{% endfor %}
    ),
    {%- for column in before %}
    _image_before.{{ tidemark.quote_identifier(column['name']) }} as {{ tidemark.quote_identifier('_before_' ~ column['name']) }},
    {%- endfor %}
    if(_tidemark_effect = 'upsert' and size(_unsupplied) > 0, _unsupplied, null) as _unsupplied,
    _reject_reason is null and not _is_duplicate as _is_usable,
    {%- if plan['keyed'] %}
    {{ tidemark.row_hash_expr(plan['keys'], cfg['hash'], only_if="_reject_reason is null and _tidemark_effect in ('upsert', 'delete')") | indent(4) }} as _key_hash,
    {{ 'coalesce(_departed_key_hash, ' if known.get('departures') }}{{ tidemark.row_hash_expr(plan['keys'], cfg['hash'], '_image_before', only_if=tidemark._has_before_key_expr(plan)) | indent(4) }}{{ ')' if known.get('departures') }} as _before_key_hash
    {%- else %}
    {{ tidemark.row_hash_expr(plan['compared'], cfg['hash'], only_if="_reject_reason is null and _tidemark_effect in ('upsert', 'delete')") | indent(4) }} as _row_hash,
    {{ tidemark.row_hash_expr(plan['compared'], cfg['hash'], '_image_before', only_if="_reject_reason is null and _source_operation = 'UPDATE'") | indent(4) }} as _before_row_hash
    {%- endif %}
from told_apart
{%- if rejects_ties %}
)

{{ tidemark._without_ties_sql(cfg, plan, known) }}
{%- endif %}
{%- endmacro -%}

{#- With `on_tie: reject`: of events at one key and sequence the first counts, and those of the same content; so does what the log has
    there. Rows of a snapshot are what the source holds, and decided by arrival. -#}
{%- macro _without_ties_sql(cfg, plan, known) -%}
{%- set sequence = tidemark.sequence_expr(cfg) -%}
,

contents as (
    select
        *,
        case
            when not _is_usable or _is_snapshot or _tidemark_effect not in ('upsert', 'delete') then null
            when _tidemark_effect = 'delete' then 'deleted'
            else concat_ws('|', {{ tidemark.row_hash_expr(plan['compared'], cfg['hash']) | indent(12) }}, array_join(array_sort(_unsupplied), '|'))
        end as _tidemark_content
    from hashed
),

firsts as (
    select
        *,
        first_value(_tidemark_content, true) over (
            partition by _key_hash, {{ sequence }}
            order by _landing_num asc nulls last, if(_tidemark_effect = 'delete', 2, 1) asc nulls last, _event_id asc nulls last
            rows between unbounded preceding and current row
        ) as _tidemark_first
    from contents
),

tied as (
    select
        firsts.*,
        coalesce(
            {%- if known.get('log') %}
            if(logged._known_contents is null, _tidemark_content <> _tidemark_first, not array_contains(logged._known_contents, _tidemark_content)),
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
        where {{ tidemark.in_force_expr() }} and _source_operation in ('INSERT', 'READ', 'UPDATE', 'UPSERT', 'MOVE_IN', 'DELETE')
        group by _key_hash, {{ sequence }}
    ) as logged
        on firsts._key_hash = logged._known_key_hash and firsts.{{ sequence }} <=> logged._known_sequence
    {%- endif %}
)

select
    * except (_tidemark_content, _tidemark_first, _tidemark_is_tie, _reject_reason, _raw_payload, _is_usable),
    if(_tidemark_is_tie, {{ tidemark.string_literal('tie: ' ~ (cfg['sequence_by'] | join(', ') or '_sequence_num')) }}, _reject_reason) as _reject_reason,
    if(_tidemark_is_tie or _reject_reason is not null, _raw_payload, null) as _raw_payload,
    _is_usable and not _tidemark_is_tie as _is_usable
from tied
{%- endmacro -%}

{#- The text of a column in an image, by its name or, where that is not there, by a name that it had before. -#}
{%- macro _image_text_expr(image, column) -%}
    {%- set terms = [] -%}
    {%- for source in column['sources'] -%}{%- do terms.append(image ~ '[' ~ tidemark.string_literal(source) ~ ']') -%}{%- endfor -%}
    {{ return('coalesce(' ~ terms | join(', ') ~ ')' if terms | length > 1 else terms[0]) }}
{%- endmacro -%}

{#- The typed value of a text; where schemas of the batch encode a column differently, by the event's schema. -#}
{%- macro _decoded_expr(plan, column, prefix) -%}
    {%- set text = tidemark.quote_identifier(prefix ~ column['name']) -%}
    {%- set by_schema = column['encodings'] -%}
    {%- if not tidemark._is_read_by_schema(column) -%}
        {{ return(tidemark.decode_expr(text, by_schema.values() | first | default('auto'), column['type'])) }}
    {%- endif -%}
    {%- set branches = [] -%}
    {%- for schema_id, encoding in by_schema.items() -%}
        {%- do branches.append('when _schema_id ' ~ ('= ' ~ tidemark.string_literal(schema_id) if schema_id else 'is null') ~ ' then '
            ~ tidemark.decode_expr(text, encoding, column['type'])) -%}
    {%- endfor -%}
    {{ return('case ' ~ branches | join('\n') ~ ' end') }}
{%- endmacro -%}

{#- Whether schemas of the batch encode a column differently. -#}
{%- macro _is_read_by_schema(column) -%}
    {{ return(column['encodings'].values() | unique | list | length > 1) }}
{%- endmacro -%}

{%- macro _reads_by_schema(plan) -%}
    {%- for column in plan['source_columns'] if not plan['typed'] and tidemark._is_read_by_schema(column) -%}{{ return(true) }}{%- endfor -%}
    {{ return(false) }}
{%- endmacro -%}

{%- macro _typed_value_expr(plan, column) -%}
    {%- if not plan['typed'] -%}{{ return(tidemark.quote_identifier(column['name'])) }}{%- endif -%}
    {%- if not column['arrived'] -%}{{ return('cast(null as ' ~ column['type'] ~ ')') }}{%- endif -%}
    {{ return(tidemark.quote_identifier(
        column['source_name'] if column['source_type'] == column['type'] else '_tidemark_value_' ~ column['name']
    )) }}
{%- endmacro -%}

{%- macro _before_value_expr(plan, column) -%}
    {%- set name = tidemark.quote_identifier('_before_' ~ column['name']) -%}
    {%- if not plan['typed'] -%}{{ return(name) }}{%- endif -%}
    {%- if column['before_arrived'] and tidemark._nested_kind(column['type']) -%}
        {{ return(tidemark.cast_by_name_expr(name, column['before_type'], column['type'])['value']) }}
    {%- endif -%}
    {{ return('cast(' ~ (name if column['before_arrived'] else 'null') ~ ' as ' ~ column['type'] ~ ')') }}
{%- endmacro -%}

{#- True where an upsert says nothing about a column. -#}
{%- macro _unsupplied_expr(cfg, plan, column) -%}
    {%- set terms = [] -%}
    {%- if not plan['typed'] -%}
        {%- set missing = [] -%}
        {%- for source in column['sources'] -%}
            {%- do missing.append('not map_contains_key(_image, ' ~ tidemark.string_literal(source) ~ ')') -%}
        {%- endfor -%}
        {%- do terms.append('coalesce(' ~ missing | join(' and ') ~ ', true)') -%}
        {%- do terms.append('(' ~ tidemark._is_unavailable_expr(column) ~ ')') -%}
    {%- elif not column['arrived'] -%}
        {%- do terms.append('true') -%}
    {%- endif -%}
    {%- if tidemark.is_chosen(cfg['ignore_null_updates'], column['name']) -%}
        {%- do terms.append(tidemark._typed_value_expr(plan, column) ~ ' is null') -%}
    {%- endif -%}
    {{ return(terms | join(' or ') if terms else 'false') }}
{%- endmacro -%}

{#- The fields, as lists of names, whose NULL in an update leaves them as they are: of structs that `ignore_null_updates` chooses. -#}
{%- macro partial_paths(cfg, plan, column) -%}
    {%- if not plan['keyed'] or column['key'] or not tidemark.is_chosen(cfg['ignore_null_updates'], column['name']) -%}{{ return([]) }}{%- endif -%}
    {{ return(tidemark._field_paths([column['name']], column['type'])) }}
{%- endmacro -%}

{%- macro _field_paths(path, type) -%}
    {%- set paths = [] -%}
    {%- if tidemark._nested_kind(type) == 'struct' -%}
        {%- for field in tidemark._struct_fields(type[type.index('<') + 1:-1]) -%}
            {%- set inner = path + [field['name']] -%}
            {%- do paths.append(inner) -%}
            {%- do paths.extend(tidemark._field_paths(inner, field['type'])) -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(paths) }}
{%- endmacro -%}

{#- A field that is NULL in a struct that is not. -#}
{%- macro _missing_field_expr(column, path) -%}
    {%- set names = path[1:] | map('replace', '`', '``') | list -%}
    {%- set holder = column ~ ('.`' ~ names[:-1] | join('`.`') ~ '`' if names | length > 1 else '') -%}
    {{ return(holder ~ ' is not null and ' ~ holder ~ '.`' ~ names[-1] ~ '` is null') }}
{%- endmacro -%}

{#- Of an insert that may be half of a change of the key, the first column whose value the database did not log. -#}
{%- macro _unavailable_column_expr(plan) -%}
    {%- set branches = [] -%}
    {%- for column in plan['columns'] if not column['key'] -%}
        {%- do branches.append('when _may_be_move and ' ~ tidemark._is_unavailable_expr(column) ~ ' then ' ~ tidemark.string_literal(column['name'])) -%}
    {%- endfor -%}
    {{ return('case\n    ' ~ branches | join('\n    ') ~ '\nend' if branches else 'cast(null as string)') }}
{%- endmacro -%}

{%- macro _is_unavailable_expr(column) -%}
    {{ return(
        tidemark.quote_identifier('_tidemark_text_' ~ column['name']) ~ ' is not null and '
        ~ tidemark.quote_identifier('_tidemark_given_' ~ column['name']) ~ ' is null'
    ) }}
{%- endmacro -%}

{#- True where the before image names another row than the after image. -#}
{%- macro _has_before_key_expr(plan) -%}
    {%- set terms = [] -%}
    {%- for column in plan['keys'] -%}
        {%- do terms.append('_image_before.' ~ tidemark.quote_identifier(column['name']) ~ ' is not null') -%}
    {%- endfor -%}
    {{ return("_reject_reason is null and _tidemark_effect = 'upsert' and (" ~ terms | join(' or ') ~ ')') }}
{%- endmacro -%}

{#- Why an event is rejected, first match wins. Values of a before image count only where they find a row. -#}
{%- macro _event_reject_reasons(cfg, plan, before) -%}
    {%- set reasons = [] -%}
    {%- for column in plan['keys'] + (plan['columns'] | rejectattr('key') | list) -%}
        {%- set name = tidemark.quote_identifier(column['name']) -%}
        {%- if plan['typed'] -%}
            {%- if column['arrived'] and column['source_type'] != column['type'] -%}
                {%- set source = tidemark.quote_identifier(column['source_name']) -%}
                {%- set failed = tidemark.cast_failed_expr(column, source) if tidemark._nested_kind(column['type'])
                    else source ~ ' is not null and ' ~ tidemark._typed_value_expr(plan, column) ~ ' is null' -%}
                {%- if failed -%}
                    {%- do reasons.append(tidemark._reason(failed, 'cast_failed', column['name'])) -%}
                {%- endif -%}
            {%- endif -%}
        {%- else -%}
            {%- set text = tidemark.quote_identifier('_tidemark_text_' ~ column['name']) -%}
            {%- set counts = "(_operation <> 'DELETE' or " ~ ('true' if column['key'] or not plan['keyed'] else 'false') ~ ')' -%}
            {%- set given = text ~ ' is not null and not ' ~ tidemark.unavailable_expr(text, plan['unavailable_value']) if column['key']
                else tidemark.quote_identifier('_tidemark_given_' ~ column['name']) ~ ' is not null' -%}
            {%- set failed = counts ~ ' and ' ~ given ~ ' and ' ~ name ~ ' is null' -%}
            {%- if column['type'].startswith('timestamp') and 'auto' in column['encodings'].values() -%}
                {%- do reasons.append(tidemark._reason(failed ~ " and " ~ text ~ " rlike '^-?[0-9]+$'", 'ambiguous_unit', column['name'])) -%}
            {%- endif -%}
            {%- if column['type'] == 'binary' and 'auto' in column['encodings'].values() -%}
                {%- do reasons.append(tidemark._reason(failed ~ ' and ' ~ tidemark._is_hex_expr(text), 'ambiguous_encoding', column['name'])) -%}
            {%- endif -%}
            {%- do reasons.append(tidemark._reason(failed, 'cast_failed', column['name'])) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not plan['typed'] -%}
        {%- for column in before -%}
            {%- set text = tidemark.quote_identifier(('_tidemark_before_' if column['key'] else '_tidemark_was_') ~ column['name']) -%}
            {%- set was = '_before_' ~ column['name'] -%}
            {%- do reasons.append(tidemark._reason(text ~ ' is not null and ' ~ tidemark.quote_identifier(was) ~ ' is null', 'cast_failed', was)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set kept = ' and not coalesce((' ~ cfg['apply_as_truncates'] ~ '), false)' -%}
    {%- for column in plan['keys'] if column['not_null'] -%}
        {%- do reasons.append(tidemark._reason("_kind = 'row' and " ~ tidemark._typed_value_expr(plan, column) ~ ' is null' ~ kept, 'null_key', column['name'])) -%}
    {%- endfor -%}
    {%- for column in plan['columns'] if column['not_null'] and not column['key'] -%}
        {%- do reasons.append(tidemark._reason(
            "_kind = 'row' and _operation <> 'DELETE' and " ~ tidemark._typed_value_expr(plan, column) ~ ' is null and not ('
            ~ tidemark._unsupplied_expr(cfg, plan, column) ~ ') and not coalesce((' ~ cfg['apply_as_deletes'] ~ '), false)' ~ kept, 'null_value', column['name']
        )) -%}
    {%- endfor -%}
    {%- for expression in cfg['sequence_by'] -%}
        {%- do reasons.append(tidemark._reason("not _is_snapshot and (" ~ expression ~ ') is null', 'null_sequence', expression)) -%}
    {%- endfor -%}
    {%- if not cfg['sequence_by'] -%}
        {%- do reasons.append({'condition': '_sequence_num is null', 'text': "'null_sequence: _sequence_num'"}) -%}
    {%- endif -%}
    {%- if not plan['keyed'] and not plan['typed'] -%}
        {%- do reasons.append({
            'condition': "_kind = 'row' and _operation in ('UPDATE', 'DELETE') and _before is null",
            'text': "'no_before_image'",
        }) -%}
    {%- endif -%}
    {{ return(reasons) }}
{%- endmacro -%}

{#- A reason, which tells the column (or the expression) that it is about. -#}
{%- macro _reason(condition, kind, name) -%}
    {{ return({'condition': condition, 'text': tidemark.string_literal(kind ~ ': ' ~ name)}) }}
{%- endmacro -%}

{#- One row about a stretch of staged events; with `log`, how many belong before one that it has by the expression `sequence`. -#}
{%- macro staged_figures_sql(plan, staged, log=none, sequence=none) -%}
{%- set moved = '_before_key_hash <> _key_hash' if plan['keyed'] else 'false' -%}
select
    count(*) as row_count,
    count_if(_reject_reason is not null) as reject_count,
    count_if(_reject_reason is null and _is_duplicate) as duplicate_count,
    count_if(_is_usable and _tidemark_effect = 'truncate') as truncate_count,
    count_if(_is_usable and {{ moved }}) as move_count,
    count_if(_is_usable and {{ moved }} and size(_unsupplied) > 0) as partial_move_count,
    count_if(_reject_reason like 'unavailable_value: %') as lone_arrival_count,
    count_if(_is_usable and (_tidemark_effect = 'delete' or {{ moved }})) as departure_count,
    coalesce(max(_is_usable and _is_snapshot), false) as has_snapshot,
    count(distinct if(
        _is_usable and _snapshot_mark in ('first', 'first_in_data_collection', 'last', 'last_in_data_collection'), _offset, null
    )) as snapshot_count,
    min(if(_is_usable, _sequence_num, null)) as first_num,
    max(if(_is_usable, _sequence_num, null)) as last_num,
    {{ 'count_if(_is_usable and ' ~ sequence ~ ' <= (select max(' ~ sequence ~ ') from ' ~ log ~ '))' if log else '0' }} as late_count,
    to_json(array_distinct(flatten(collect_set(_unsupplied)))) as unsupplied
from {{ staged }}
{%- endmacro -%}

{#- The images as values: texts by column, those that are given, and their types. -#}
{%- macro _decoded_texts_sql(plan, before) -%}
texts as (
    select
        *
        {%- for column in plan['source_columns'] %},
        {{ tidemark._image_text_expr('_image', column) }} as {{ tidemark.quote_identifier('_tidemark_text_' ~ column['name']) }}
        {%- endfor %}
        {%- for column in before %},
        {{ tidemark._image_text_expr('_before', column) }} as {{ tidemark.quote_identifier('_tidemark_before_' ~ column['name']) }}
        {%- endfor %}
    from images
),

{# A placeholder for an unavailable value is no value; `_tidemark_text_` still tells it from nothing. -#}
given as (
    select
        *
        {%- for column in plan['source_columns'] if not column['key'] %}
        {%- set text = tidemark.quote_identifier('_tidemark_text_' ~ column['name']) %},
        if({{ tidemark.unavailable_expr(text, plan['unavailable_value']) }}, null, {{ text }}) as {{ tidemark.quote_identifier('_tidemark_given_' ~ column['name']) }}
        {%- endfor %}
        {%- for column in before if not column['key'] %}
        {%- set text = tidemark.quote_identifier('_tidemark_before_' ~ column['name']) %},
        if({{ tidemark.unavailable_expr(text, plan['unavailable_value']) }}, null, {{ text }}) as {{ tidemark.quote_identifier('_tidemark_was_' ~ column['name']) }}
        {%- endfor %}
    from texts
),

decoded as (
    select
        *
        {%- for column in plan['source_columns'] %},
        {{ tidemark._decoded_expr(plan, column, '_tidemark_text_' if column['key'] else '_tidemark_given_') }} as {{ tidemark.quote_identifier(column['name']) }}
        {%- endfor %}
        {%- for column in before %},
        {{ tidemark._decoded_expr(plan, column, '_tidemark_before_' if column['key'] else '_tidemark_was_') }} as {{ tidemark.quote_identifier('_before_' ~ column['name']) }}
        {%- endfor %}
    from given
),
{%- endmacro -%}

{#- Typed events with what they do to the table, what orders them, and why one cannot be used. -#}
{%- macro _judged_events_sql(cfg, plan, before, reasons) -%}
judged as (
    select
        {%- for column in plan['columns'] %}
        {%- set value = tidemark._typed_value_expr(plan, column) %}
        {%- if not plan['keyed'] %}
        {{ 'if(' ~ tidemark._unsupplied_expr(cfg, plan, column) ~ ' and _operation = \'UPDATE\', ' ~ tidemark.quote_identifier('_before_' ~ column['name']) ~ ', ' ~ value ~ ')' if not plan['typed'] else value }} as {{ tidemark.quote_identifier(column['name']) }},
        {%- else %}
        {{ value }} as {{ tidemark.quote_identifier(column['name']) }},
        {%- endif %}
        {%- endfor %}
        {{ 'if(_before is null, null, ' if not plan['typed'] }}named_struct(
            {%- for column in before %}
            {{ tidemark.string_literal(column['name']) }}, {{ tidemark._before_value_expr(plan, column) }} {{- ',' if not loop.last }}
            {%- endfor %}
        ){{ ')' if not plan['typed'] }} as _image_before,
        {#- unlike array_compact(), which is a filter, Spark makes code of it #}
        array_except(array(
            {%- for column in plan['columns'] if not column['key'] %}
            if({{ tidemark._unsupplied_expr(cfg, plan, column) }}, {{ tidemark.string_literal(column['name']) }}, null),
            {%- for path in tidemark.partial_paths(cfg, plan, column) %}
            if({{ tidemark._missing_field_expr(tidemark._typed_value_expr(plan, column), path) }}, {{ tidemark.string_literal(path | join('.')) }}, null),
            {%- endfor %}
            {%- endfor %}
            cast(null as string)
        ), array(cast(null as string))) as _unsupplied,
        {%- if tidemark._pairs_moves(cfg) %}
        {{ tidemark._unavailable_column_expr(plan) | indent(8) }} as _unavailable,
        {%- endif %}
        case
            when coalesce(({{ cfg['apply_as_truncates'] }}), false)
                then '{{ 'none' if cfg['ddl']['truncate_table'] == 'ignore' else 'truncate' }}'
            when _kind = 'truncate' then 'none'
            when coalesce(({{ cfg['apply_as_deletes'] }}), false) then 'delete'
            else 'upsert'
        end as _tidemark_effect,
        {%- if cfg['sequence_by'] %}
        named_struct(
            {%- for expression in cfg['sequence_by'] %}
            'sequence_{{ loop.index }}', {{ 'cast(' ~ expression ~ ' as ' ~ plan['sequence_casts'][loop.index0] ~ ')' if loop.index0 in plan['sequence_casts'] else expression }},
            {%- endfor %}
            'is_stream', not _is_snapshot, 'position', _position, 'supplied_num', _supplied_num
        ) as _sequence_by,
        {%- endif %}
        _sequence_num,
        _landing_num,
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
        _raw_payload,
        case
            when _kind = 'unreadable' then _problem
            {%- if cfg['ddl']['truncate_table'] == 'fail' %}
            when coalesce(({{ cfg['apply_as_truncates'] }}), false) then 'truncate_table (ddl.truncate_table is fail)'
            {%- endif %}
            {%- for reason in reasons %}
            when {{ reason['condition'] }} then {{ reason['text'] }}
            {%- endfor %}
        end as _reject_reason
    from decoded
),
{%- endmacro -%}
