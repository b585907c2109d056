{#- What concerns every row of a table, in the batch and, with `load.late`, in the log: a TRUNCATE and the end
    of a snapshot close what stood before `_tidemark_bound`; an added column with a default fills the rows
    that are there; other DDL has no effect on rows (`none`) and is only logged. `_tidemark_is_new` parts the
    batch from the log. -#}
{%- macro table_events_sql(cfg, roles, relations, staged, load) -%}
{%- set parts = [tidemark._truncates_sql(cfg, roles, staged, load)] -%}
{%- if load['closes_snapshot'] -%}{%- do parts.append(tidemark._snapshot_ends_sql(cfg, roles, relations,
    staged, load)) -%}{%- endif -%}
{%- for statement in load['statements'] -%}{%- do parts.append(tidemark._statement_sql(cfg, roles, statement,
    load)) -%}{%- endfor -%}
{%- if load['late'] -%}
    {%- do parts.append(tidemark._logged_table_events_sql(cfg, roles, relations)) -%}
{%- endif -%}
{{ parts | join('\nunion all\n') }}
{%- endmacro -%}

{%- macro _no_values_list(roles, value=none) -%}
    {%- set terms = [] -%}
    {%- for column in roles['columns'] -%}
        {%- set given = value[column['name']] if value and column['name'] in value else 'null' -%}
        {%- do terms.append('cast(' ~ given ~ ' as ' ~ column['type'] ~ ') as '
            ~ tidemark.quote_identifier(column['name'])) -%}
    {%- endfor -%}
    {{ return(terms | join(',\n    ')) }}
{%- endmacro -%}

{%- macro _truncates_sql(cfg, roles, staged, load) -%}
{%- set place = tidemark.place_expr(cfg, tidemark.sequence_expr(cfg), '0', '_event_id',
    [load['batch_id'], '_sequence_num']) -%}
select
    {{ tidemark._no_values_list(roles) }},
    'close' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    {{ place }} as _tidemark_order,
    {{ place }} as _tidemark_bound,
    {{ tidemark._meta_list(cfg, "'TRUNCATE'") }},
    true as _tidemark_is_new
from {{ staged }}
where _is_usable and _tidemark_effect = 'truncate'
{%- endmacro -%}

{#- The end of each snapshot that the batch ends: what it did not read is gone. Capture tells it of every
    table (SNAPSHOT, which the log knows again by its identity); of one without rows all that stood before
    that is gone. -#}
{%- macro _snapshot_ends_sql(cfg, roles, relations, staged, load) -%}
{%- set sequence = tidemark.sequence_expr(cfg) -%}
{%- set read = "if(_source_operation = 'SNAPSHOT', null, " ~ sequence ~ ')' -%}
{%- set last_read = 'coalesce(ends.last_read, (select max(_sequence_by) from ' ~ load['log'] ~ '))'
    if cfg['sequence_by'] and load['log'] else 'ends.last_read' -%}
{%- set place = tidemark.place_expr(cfg, last_read, '3', 'ends._event_id',
    [load['batch_id'], 'ends._sequence_num']) -%}
{%- set first_read = 'least(ends.first_read, earlier.first_read)' if load['log'] else 'ends.first_read' -%}
select
    {{ tidemark._no_values_list(roles) }},
    'close' as _tidemark_effect,
    cast(null as array<string>) as _unsupplied,
    {{ place }} as _tidemark_order,
    if({{ first_read }} is null, {{ place }},
        {{ tidemark.place_expr(cfg, first_read, '0', "''") }}) as _tidemark_bound,
    'SNAPSHOT' as _source_operation,
    ends._event_id,
    ends._sequence_num,
    {%- if cfg['sequence_by'] %}
    {{ last_read }} as _sequence_by,
    {%- endif %}
    ends._event_time,
    cast(null as string) as _transaction_id,
    ends._offset,
    cast(null as string) as _moved_from,
    true as _tidemark_is_new
from (
    select
        _offset,
        coalesce(
            max(if(_source_operation = 'SNAPSHOT', _event_id, null)),
                md5(concat_ws('|', 'snapshot', _offset, max(_event_id)))
        ) as _event_id,
        min({{ read }}) as first_read,
        max({{ read if cfg['sequence_by'] else sequence }}) as last_read,
        max(_sequence_num) as _sequence_num,
        max(_event_time) as _event_time
    from (
        {{ tidemark._snapshot_rows_sql(cfg, relations, staged, load) | indent(8) }}
    )
    group by _offset
    having
        max(_snapshot_mark in ('last', 'last_in_data_collection', 'end'))
        or max({{ sequence }}) < (select max({{ sequence }}) from {{ staged }} where _reject_reason is null
            and not _is_snapshot)
) as ends
{%- if load['log'] %}
left join (
    {{ tidemark._first_reads_sql(cfg, relations) | indent(4) }}
) as earlier on ends._offset = earlier._offset
{%- endif %}
{%- endmacro -%}

{#- The operations of rows that a snapshot read, by its `_offset`: a log of canonical events may have them by
    other names. -#}
{%- macro _read_operations(cfg) -%}
    {{ return("'READ'" if cfg['format'] == 'debezium' else "'READ', 'INSERT', 'UPSERT'") }}
{%- endmacro -%}

{#- Whether the log has rows of the snapshots that the batch may end, and whether it has others before them,
    which these may close. -#}
{%- macro read_before_sql(cfg, log_relation, staged, open_snapshot) -%}
{%- set sequence = tidemark.sequence_expr(cfg, 'log') -%}
select
    count_if(read._offset is not null) > 0 as spans_runs,
    coalesce(min({{ sequence }}) < min(if(read._offset is null, null, {{ sequence }})), false) as has_more
from {{ log_relation }} as log
left join (
    select _offset from {{ staged }}
    where _is_usable and _is_snapshot and _offset is not null
    {%- if open_snapshot %}
    union
    select _offset from {{ log_relation }}
    where _source_operation = 'READ' and _offset is not null and _commit_id >= {{ open_snapshot }}
        and {{ tidemark.in_force_expr() }}
    {%- else %}
    group by _offset
    {%- endif %}
) as read on log._offset = read._offset and log._source_operation in ({{ tidemark._read_operations(cfg) }})
where {{ tidemark.in_force_expr(alias='log') }} and log._operation <> 'T'
{%- endmacro -%}

{#- What snapshots have read that the batch may end: its own rows, and with `load.open_snapshot` the log's
    since that commit, as far as none was ended. Rows without position do not tell which snapshot they are of:
    that ends nothing. -#}
{%- macro _snapshot_rows_sql(cfg, relations, staged, load) -%}
{%- set names = [tidemark.sequence_expr(cfg), '_event_id', '_event_time']
    + (['_sequence_num'] if cfg['sequence_by'] else []) -%}
select
    _offset,
    _source_operation,
    {{ names | join(',
    ') }},
    _snapshot_mark
from {{ staged }}
where
    _is_usable and _is_snapshot and _offset is not null
    and _source_operation in ('READ', 'SNAPSHOT') and not coalesce(_snapshot_mark = 'incremental', false)
{%- if load.get('open_snapshot') %}
union all
select
    log._offset,
    log._source_operation,
    log.{{ names | join(',
    log.') }},
    cast(null as string) as _snapshot_mark
from {{ relations['log'] }} as log
left semi join (
    select _offset from {{ relations['log'] }}
    where _source_operation = 'READ' and _commit_id >= {{ load['open_snapshot'] }}
        and {{ tidemark.in_force_expr() }}
) as read on log._offset = read._offset
left anti join (
    select _offset from {{ relations['log'] }} where _source_operation = 'SNAPSHOT' and _operation = 'T'
        and {{ tidemark.in_force_expr() }}
) as ended on log._offset = ended._offset
where log._source_operation = 'READ' and {{ tidemark.in_force_expr(alias='log') }}
{%- endif %}
{%- endmacro -%}

{#- A DDL event: `statement` has its identity and, for an added column with a default, `column` and `value`.
    -#}
{%- macro _statement_sql(cfg, roles, statement, load) -%}
{%- set others = [] -%}
{%- for column in roles['columns'] if column['name'] != statement.get('column') -%}
    {%- do others.append(tidemark.string_literal(column['name'])) -%}
{%- endfor -%}
{%- set at = 'cast(' ~ (statement['sequence_num'] if statement['sequence_num'] is not none else 'null')
    ~ ' as bigint)' -%}
{%- set place = tidemark.place_expr(
    cfg, '(select max(_sequence_by) from ' ~ load['log'] ~ ')' if cfg['sequence_by'] and load['log'] else at,
    '0', tidemark.string_literal(statement['event_id']), [load['batch_id'], at]
) -%}
select
    {{ tidemark._no_values_list(roles, {statement['column']: statement['value']} if statement.get('column')
        else none) }},
    '{{ statement['effect'] }}' as _tidemark_effect,
    {{ 'array(' ~ others | join(', ') ~ ')' if statement.get('column') and others
        else 'cast(null as array<string>)' }} as _unsupplied,
    {{ place if not cfg['sequence_by'] or load['log']
        else 'cast(null as ' ~ load['order_type'] ~ ')' }} as _tidemark_order,
    {{ (place if statement['effect'] == 'close' and (not cfg['sequence_by'] or load['log'])
        else 'cast(null as ' ~ load['order_type'] ~ ')') }} as _tidemark_bound,
    {{ tidemark.string_literal(statement['operation']) }} as _source_operation,
    {{ tidemark.string_literal(statement['event_id']) }} as _event_id,
    {{ at }} as _sequence_num,
    {%- if cfg['sequence_by'] %}
    {{ '(select max(_sequence_by) from ' ~ load['log'] ~ ')' if load['log']
        else 'cast(null as ' ~ roles['sequence_type'] ~ ')' }} as _sequence_by,
    {%- endif %}
    cast({{ tidemark.string_literal(statement['event_time']) if statement.get('event_time')
        else 'null' }} as timestamp) as _event_time,
    cast(null as string) as _transaction_id,
    cast(null as string) as _offset,
    cast(null as string) as _moved_from,
    true as _tidemark_is_new
{%- endmacro -%}

{#- Where each snapshot began that the log has rows of: the least sequence of these rows, as far as they have
    one. -#}
{%- macro _first_reads_sql(cfg, relations) -%}
{%- set sequence = tidemark.sequence_expr(cfg) -%}
select
    _offset,
    {#- engines differ in how they order NULL within a struct #}
    {{ 'min_by(' ~ sequence ~ ', ' ~ tidemark.comparable_expr(cfg, sequence) ~ ') filter (where ' ~ sequence
        ~ ' is not null)' if cfg['sequence_by'] else 'min(' ~ sequence ~ ')' }} as first_read
from {{ relations['log'] }}
where _source_operation in ({{ tidemark._read_operations(cfg) }}) and {{ tidemark.in_force_expr() }}
group by _offset
{%- endmacro -%}

{%- macro _logged_table_events_sql(cfg, roles, relations) -%}
select
    {%- for column in roles['columns'] %}
    {{ 'cast(null as ' ~ column['type'] ~ ') as ' ~ tidemark.quote_identifier(column['name'])
        if column['sensitive'] else 'logged.' ~ tidemark.quote_identifier(column['name']) }},
    {%- endfor %}
    case logged._source_operation when 'TRUNCATE' then 'close' when 'SNAPSHOT' then 'close'
        when 'ADD_COLUMN' then 'fill' else 'none' end as _tidemark_effect,
    {{ tidemark._unfilled_expr(roles) | indent(4) }} as _unsupplied,
    {{ tidemark.event_order_expr(cfg, 'logged') }} as _tidemark_order,
    case
        when logged._source_operation = 'TRUNCATE' then {{ tidemark.event_order_expr(cfg, 'logged') }}
        {%- if cfg['format'] == 'debezium' %}
        when logged._source_operation = 'SNAPSHOT'
            and reads.first_read is null then {{ tidemark.event_order_expr(cfg, 'logged') }}
        {%- endif %}
        when logged._source_operation = 'SNAPSHOT' then {{ tidemark.place_expr(cfg, 'reads.first_read', '0',
            "''") }}
    end as _tidemark_bound,
    {{ tidemark.column_list_expr(tidemark.event_meta_columns(cfg), 'logged') }},
    false as _tidemark_is_new
from {{ relations['log'] }} as logged
left join (
    {{ tidemark._first_reads_sql(cfg, relations) | indent(4) }}
) as reads on logged._offset = reads._offset and logged._source_operation = 'SNAPSHOT'
where {{ tidemark.in_force_expr(alias='logged') }} and logged._operation = 'T'
{%- endmacro -%}

{#- What an added column, as the log has it, gives no value to. By values, as columns may have other names
    since, or be gone. -#}
{%- macro _unfilled_expr(roles) -%}
    {%- set terms = [] -%}
    {%- for column in roles['columns'] -%}
        {%- set name = tidemark.string_literal(column['name']) -%}
        {%- do terms.append(name if column['sensitive']
            else 'if(logged.' ~ tidemark.quote_identifier(column['name']) ~ ' is null, ' ~ name
            ~ ', null)') -%}
    {%- endfor -%}
    {{ return("if(logged._source_operation = 'ADD_COLUMN', array_compact(array(" ~ terms | join(', ')
        ~ ')), logged._unsupplied)') }}
{%- endmacro -%}

{#- The rows of the log for what concerns the whole table: no key, `_operation` T. -#}
{%- macro logged_statements_sql(cfg, roles, table_events, load) -%}
{%- set today = "date'" ~ load['business_date'] ~ "'" -%}
select
    {{ tidemark.column_list_expr(roles['columns'] | map(attribute='name')) }},
    {%- for column in roles.get('kept_gone', []) %}
    cast(null as {{ column['type'] }}) as {{ tidemark.quote_identifier(column['name']) }},
    {%- endfor %}
    cast(null as string) as _key_hash,
    cast(null as string) as _row_hash,
    'T' as _operation,
    cast(null as array<string>) as _changed_columns,
    _unsupplied,
    {{ tidemark.column_list_expr(tidemark.event_meta_columns(cfg)) }},
    {{ today }} as _business_date,
    {{ today }} as _eff_start_date,
    {{ load['batch_id'] }} as _batch_id,
    cast(null as bigint) as _supersedes
from {{ table_events }}
where _tidemark_is_new
{%- endmacro -%}
