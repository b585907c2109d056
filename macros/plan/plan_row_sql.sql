{#- The columns of the tables of a plan beside its one row of figures. -#}
{%- macro plan_columns() -%}
    {{ return({
        'columns': [{'name': 'column_name', 'type': 'string'}, {'name': 'row_count', 'type': 'bigint'}],
        'samples': [
            {'name': '_operation', 'type': 'string'}, {'name': '_business_date', 'type': 'date'},
            {'name': '_changed_columns', 'type': 'string'}, {'name': '_key', 'type': 'string'},
            {'name': '_old', 'type': 'string'}, {'name': '_new', 'type': 'string'},
        ],
        'rejects': [{'name': '_reject_reason', 'type': 'string'}, {'name': 'row_count', 'type': 'bigint'}],
        'dates': [
            {'name': '_business_date', 'type': 'date'}, {'name': 'rows_logged', 'type': 'bigint'},
            {'name': 'rows_superseded', 'type': 'bigint'},
        ],
    }) }}
{%- endmacro -%}

{#- The figures of a plan as one row: the counts as tidemark_commits has them, and what would become of the
    load. -#}
{%- macro plan_row_sql(facts) -%}
{%- set files, tables = facts['files'], facts['tables'] -%}
{%- set values = [('_business_date', 'date', facts['business_date'] or none)] -%}
{%- for name in ['kind', 'outcome', 'stops'] -%}{%- do values.append((name, 'string',
    facts[name] or none)) -%}{%- endfor -%}
{%- for name in ['rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted', 'rows_unchanged',
    'rows_not_supplied', 'rows_rejected', 'rows_duplicate',
                 'rows_tied', 'rows_ignored', 'rows_logged', 'rows_superseded'] -%}
    {%- do values.append((name, 'bigint', facts['counts'].get(name, 0))) -%}
{%- endfor -%}
{%- do values.extend([
    ('existing', 'bigint', facts['existing']),
    ('guard', 'string', facts['guard']['verdict'] if facts['guard'] else none),
    ('reject_guard', 'string', facts['reject_guard']['verdict'] if facts['reject_guard'] else none),
    ('current_written', 'string', files['current']),
    ('current_files', 'bigint', files['current_files']),
    ('current_files_changed', 'bigint', files['current_files_changed']),
    ('log_version', 'bigint', tables['log_version']),
    ('current_version', 'bigint', tables['current_version']),
    ('last_commit_id', 'bigint', tables['last_commit_id']),
]) -%}
{%- set terms = [] -%}
{%- for name, type, value in values -%}{%- do terms.append(tidemark._typed_literal(value, type) ~ ' as '
    ~ name) -%}{%- endfor -%}
select
    {{ terms | join(',\n    ') }}
{%- endmacro -%}
