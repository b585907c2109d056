{#- What a batch of events does to the log of a table with key: every event of every touched key in order,
    with the row that it leaves and its effect (I, U, D, or N for one that changed nothing).

    `existing` has the rows that stood before (each a start of its key's timeline), or, with `load.late`, the
    log of the touched keys, which is derived anew together with the batch and compared with what is stored.

        key 7    base ── UPDATE ── DELETE ── MOVE_IN ── TRUNCATE …      one window per key, in order of the sequence
                 row      U          D          I          D
-#}
{%- macro replayed_keys_sql(cfg, roles, sources, load, departures=false) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set values = tidemark.column_list_expr(names) -%}
{%- set prior = tidemark._of_key('1 preceding') -%}
{%- set image = 'struct(' ~ (values ~ ', _row_hash') | replace('\n    ', ' ') ~ ')' -%}
{%- set is_row = "_tidemark_effect in ('upsert', 'base') or (_tidemark_effect = 'fill' and "
    ~ "_tidemark_is_there)" -%}
{%- set ignored = roles['ignored'] | map(attribute='name') | list -%}
with effects as (
    {{ tidemark._effects_sql(cfg, roles, sources['staged'], load) | indent(4) }}
),

{{ tidemark.timeline_of_keys_sql(cfg, roles, sources, load) }}

{% if sources['moved'] -%}
{# What a move did not bring is what the row had under its old key. -#}
arrived as (
    select
        {%- for column in roles['columns'] %}
        {%- set quoted = tidemark.quote_identifier(column['name']) %}
        {%- if column['key'] %}
        timeline.{{ quoted }},
        {%- else %}
        if(moved._event_id is not null
            and array_contains(timeline._unsupplied, {{ tidemark.string_literal(column['name']) }}),
                moved._image.{{ quoted }}, timeline.{{ quoted }}) as {{ quoted }},
        {%- endif %}
        {%- endfor %}
        timeline.* except ({{ values | replace('\n    ', ' ') }})
    from timeline
    left join {{ sources['moved'] }} as moved
        on timeline._event_id = moved._event_id and timeline._source_operation = 'MOVE_IN'
            and timeline._moved_from = moved._moved_from
),
{%- else -%}
arrived as (
    select * from timeline
),
{%- endif %}

{{ tidemark._settled_sql(load) }}

preceded as (
    select
        *,
        last_value(
            if(
                _tidemark_effect in ('upsert', 'delete', 'base') and not _tidemark_is_other_row,
                struct(_tidemark_order as position, _tidemark_effect <> 'delete' as is_row),
                null
            ), true
        ) over ({{ prior }}) as _tidemark_last
        {%- if load['table_events'] %},
        last_value(_tidemark_bound, true) over ({{ prior }}) as _tidemark_last_bound
        {%- endif %}
    from settled
),

lives as (
    select
        *,
        coalesce(_tidemark_last.is_row, false)
        {%- if load['table_events'] %}
            and not coalesce(_tidemark_last_bound > _tidemark_last.position,
                false){% endif %} as _tidemark_is_there
    from preceded
),

{{ tidemark._filled_sql(cfg, roles, load) }}

hashed as (
    select
        *,
        {{ tidemark.row_hash_expr(roles['compared'], cfg['hash']) | indent(8) }} as _row_hash
    from filled
),

{% if ignored -%}
{{ tidemark._stored_sql(roles, is_row) }}

{{ tidemark._completed_sql(cfg, roles, load, ignored) }}

{% endif -%}
compared as (
    select
        *,
        last_value(
            if({{ '_tidemark_is_stored' if ignored else is_row }}, {{ image }}, null), true
        ) over ({{ prior }}) as _tidemark_before
    from {{ 'completed' if ignored else 'hashed' }}
),

{% if departures -%}
{{ tidemark._departed_rows_sql() }}
{%- else -%}
{{ tidemark._derived_rows_sql(cfg, roles, load) }}

{{ tidemark.log_difference_sql(cfg, roles, sources, load) }}
{%- endif -%}
{%- endmacro -%}

{#- Which events leave a row that is stored: those that changed nothing that is compared leave the one that
    is there, with all its values. -#}
{%- macro _stored_sql(roles, is_row) -%}
stored as (
    select
        *,
        ({{ is_row }})
        and not coalesce(_tidemark_is_there
            and _tidemark_hash_before = _row_hash {{- ' and not _tidemark_changes_gone'
            if tidemark._tells_gone(roles) }}, false) as _tidemark_is_stored
    from (
        select
            *,
            last_value(
                if({{ is_row }}, _row_hash, null), true
            ) over ({{ tidemark._of_key('1 preceding') }}) as _tidemark_hash_before
        from hashed
    )
),
{%- endmacro -%}

{#- Whether an event is known to give a value to a column, or a field, of its row. -#}
{%- macro _is_given_expr(load, missing) -%}
    {{ return("_tidemark_effect in ('upsert', 'base') and (not _tidemark_is_there or _source_operation <=> "
        ~ "'MOVE_IN' or not "
        ~ missing ~ ')'
        ~ (" or _tidemark_effect = 'fill' and _tidemark_is_there and not " ~ missing if load['fills']
            else '')) }}
{%- endmacro -%}

{#- The last value that was given: by this event, or by those before it. With `of_stored` of these by one that
    left a row which is stored. -#}
{%- macro _last_given_expr(load, missing, value, of_stored, told='') -%}
{%- set given = tidemark._is_given_expr(load, missing) -%}
{%- set own -%}
if(
    {{ missing }} and not _source_operation <=> 'MOVE_IN',
    null, {{ value }}
){{ told }}
{%- endset -%}
{%- set last -%}
last_value(
    if(
        {{ '_tidemark_is_stored and (' ~ given ~ ')' if of_stored else given }},
        struct({{ own | indent(8) }} as value),
        null
    ), true
) over ({{ tidemark._of_key('1 preceding' if of_stored else 'current row') }}).value
{%- endset -%}
{%- if not of_stored -%}{{ return(last) }}{%- endif -%}
if(
    {{ given }},
    {{ own | indent(4) }},
    {{ last | indent(4) }}
)
{%- endmacro -%}

{#- A value of which updates may leave out fields: a struct of the last values that each of its fields was
    given since the row is there. A struct is there if the last that gave it, or a part of it, was. -#}
{%- macro _filled_field_expr(load, path, type, of_stored) -%}
    {%- set names, held_by = [], [] -%}
    {%- for field in path -%}
        {%- do names.append(tidemark.quote_identifier(field)) -%}
        {%- do held_by.append(tidemark.string_literal(path[:loop.index] | join('.'))) -%}
    {%- endfor -%}
    {%- set is_struct = tidemark._nested_kind(type) == 'struct' -%}
    {%- set missing = 'coalesce(arrays_overlap(_unsupplied, array(' ~ held_by | join(', ') ~ ')), false)' -%}
    {%- set last = tidemark._last_given_expr(load, missing, names | join('.'), of_stored,
        ' is not null' if is_struct else '') -%}
    {%- if not is_struct -%}{{ return(last) }}{%- endif -%}
    {%- set fields = [] -%}
    {%- for field in tidemark._struct_fields(type[type.index('<') + 1:-1]) -%}
        {%- do fields.append(tidemark.string_literal(field['name']) ~ ', '
            ~ tidemark._filled_field_expr(load, path + [field['name']], field['type'], of_stored)) -%}
    {%- endfor -%}
    {{ return('if(' ~ last ~ ', named_struct(\n    ' ~ fields | join(',\n    ') ~ '\n), null)') }}
{%- endmacro -%}

{#- The type of place_expr(). -#}
{%- macro place_type(cfg, sequence_type) -%}
    {%- set fields = ['is_told:boolean'] -%}
    {%- for field in tidemark._struct_fields((sequence_type or 'struct<>')[7:-1]) -%}
        {%- do fields.append('has_' ~ field['name'] ~ ':boolean,' ~ field['name'] ~ ':' ~ field['type']) -%}
    {%- endfor -%}
    {%- set sequence = 'struct<' ~ fields | join(',') ~ '>' if sequence_type else 'bigint' -%}
    {{ return('struct<sequence:' ~ sequence
        ~ ('' if cfg['on_tie'] == 'content' else ',batch:bigint,line:bigint') ~ ',tie:int,event:string>') }}
{%- endmacro -%}

{#- Rows with the compared values that their events did not bring: the last that were given since the row is
    there. What the log has in their place is what had been given by then: it counts as nothing where a late
    delete took the row away before. -#}
{%- macro _filled_sql(cfg, roles, load) -%}
{%- set told = (roles['keys'] + roles['compared']) | map(attribute='name') | list -%}
filled as (
    {{ tidemark._with_last_given_sql(cfg, roles, load, told, false) | indent(4) }}
    from lives
),
{%- endmacro -%}

{#- Rows with the values that their events did not bring of columns that are not compared: those of the row
    that is stored, whatever events gave since that changed nothing. -#}
{%- macro _completed_sql(cfg, roles, load, ignored) -%}
completed as (
    {{ tidemark._with_last_given_sql(cfg, roles, load, ignored, true) | indent(4) }}
    from stored
),
{%- endmacro -%}

{%- macro _with_last_given_sql(cfg, roles, load, names, of_stored) -%}
{%- set all_names = roles['columns'] | map(attribute='name') | list -%}
{%- set carried = all_names if load['fills'] else load['carried'] -%}
select
    {%- for column in roles['columns'] %}
    {%- set name = column['name'] %}
    {%- set quoted = tidemark.quote_identifier(name) %}
    {%- set is_partial = tidemark.partial_paths(cfg, roles, column) %}
    {%- if name in names and (is_partial or name in carried) %}
    if(
        _tidemark_effect in ('upsert', 'fill'),
        {{ (tidemark._filled_field_expr(load, [name], column['type'], of_stored) if is_partial
            else tidemark._last_given_expr(load, 'coalesce(array_contains(_unsupplied, '
                ~ tidemark.string_literal(name) ~ '), false)', quoted, of_stored)) | indent(8) }},
        {{ quoted }}
    ) as {{ quoted }},
    {%- else %}
    {{ quoted }},
    {%- endif %}
    {%- endfor %}
    * except ({{ tidemark.column_list_expr(all_names) | replace('\n    ', ' ') }})
{%- endmacro -%}

{#- The events of a key in their order, or the window up to one of them: `end`. -#}
{%- macro _of_key(end=none) -%}
    {{ return('partition by _key_hash order by _tidemark_order asc nulls first'
        ~ (' rows between unbounded preceding and ' ~ end if end else '')) }}
{%- endmacro -%}

{#- Events as rows of the log, with their effect; what has none, such as a fill of a row that is not there, is
    left out. A fill that changes nothing may have filled a column that is gone. -#}
{%- macro _derived_rows_sql(cfg, roles, load) -%}
derived as (
    select
        {%- for column in roles['columns'] %}
        {%- set quoted = tidemark.quote_identifier(column['name']) %}
        if(_tidemark_operation = 'D', _tidemark_before.{{ quoted }}, {{ quoted }}) as {{ quoted }},
        {%- endfor %}
        _key_hash,
        case
            when _tidemark_operation = 'D' then _tidemark_before._row_hash
            when _tidemark_effect in ('upsert', 'fill') then _row_hash
        end as _row_hash,
        _tidemark_operation as _operation,
        {%- if cfg['changed_columns'] %}
        case
            when _tidemark_operation = 'U'
                then {{ tidemark.changed_columns_expr(roles['compared'], '_tidemark_before',
                    'compared') | indent(16) }}
        end as _changed_columns,
        {%- else %}
        cast(null as array<string>) as _changed_columns,
        {%- endif %}
        _unsupplied,
        {%- if load['late'] %}
        _tidemark_order,
        {%- endif %}
        {{ tidemark.column_list_expr(tidemark.event_meta_columns(cfg)) | indent(8) }}
    from (
        select
            *,
            case
                when _tidemark_is_other_row then 'N'
                when _tidemark_effect = 'upsert' and not _tidemark_is_there then 'I'
                when _tidemark_effect in ('upsert', 'fill') and _tidemark_is_there
                    then if(_tidemark_before._row_hash = _row_hash, {{ "'N'" if roles.get('kept_gone')
                        else "if(_tidemark_effect = 'upsert', 'N', null)" }}, 'U')
                when _tidemark_effect = 'delete' then if(_tidemark_is_there, 'D', 'N')
                when _tidemark_effect = 'close' and _tidemark_is_there
                    and _tidemark_bound > _tidemark_last.position then 'D'
            end as _tidemark_operation
        from compared
    ) as compared
    where _tidemark_operation is not null
)
{%- endmacro -%}
