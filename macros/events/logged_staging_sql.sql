{#- Staging as the log tells it, for one that was dropped: a row for each event in force. Where it came from
    (`_landing_num`, `_database`, `_table`) and the images that are no change (`_before_<column>` of an
    update) the log does not have, nor what tells equal rows of a table without key apart. -#}
{%- macro logged_staging_sql(cfg, roles, relations) -%}
{%- set deletes = "log._source_operation = 'DELETE'" -%}
{%- set told = {
    '_before_key_hash': 'if(' ~ deletes ~ ', log._key_hash, log._moved_from)',
    '_batch_id': 'log._batch_id',
    '_operation': "if(log._source_operation = 'MOVE_IN', 'UPDATE', log._source_operation)",
    '_is_snapshot': "log._source_operation = 'READ'",
} -%}
{%- for column in roles['stored'] -%}
    {%- set quoted = tidemark.quote_identifier(column['name']) -%}
    {%- do told.update({column['name']: 'log.' ~ quoted}) -%}
    {%- if not column['key'] -%}
        {%- do told.update({column['name']: 'if(array_contains(log._unsupplied, '
            ~ tidemark.string_literal(column['name']) ~ '), null, log.' ~ quoted ~ ')'}) -%}
    {%- endif -%}
    {%- do told.update({'_before_' ~ column['name']: 'if(' ~ deletes ~ ', log.' ~ quoted ~ ', departures.'
        ~ quoted ~ ')'}) -%}
{%- endfor -%}
{%- set untold = ['_landing_num', '_database', '_table', '_before_row_hash']
    + tidemark.counting_columns(cfg) -%}
select
    {%- for column in tidemark.staging_columns(cfg, roles) %}
    {%- set name = column['name'] %}
    {{ 'cast(null as ' ~ column['type'] ~ ')' if name in untold
        else told.get(name, 'log.' ~ name) }} as {{ tidemark.quote_identifier(name) }} {{- ','
            if not loop.last }}
    {%- endfor %}
from {{ relations['log'] }} as log
left join {{ relations['log'] }} as departures
    on
        log._event_id = departures._event_id
        and log._source_operation = 'MOVE_IN'
        and departures._source_operation = 'MOVE_OUT'
        and {{ tidemark.in_force_expr(alias='departures') }}
where
    {{ tidemark.in_force_expr(alias='log') }}
    and (
        log._source_operation in ('INSERT', 'READ', 'UPDATE', 'UPSERT', 'DELETE', 'MOVE_IN')
        or (log._source_operation = 'TRUNCATE' and log._operation = 'T')
    )
{%- endmacro -%}
