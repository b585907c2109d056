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
            {'name': '_business_date', 'type': 'date'}, {'name': 'rows_logged', 'type': 'bigint'}, {'name': 'rows_superseded', 'type': 'bigint'},
        ],
    }) }}
{%- endmacro -%}

{#- The figures of a plan as one row: the counts as tidemark_commits has them, and what would become of the load. -#}
{%- macro plan_row_sql(facts) -%}
{%- set terms = [
    'cast(' ~ (tidemark.string_literal(facts['business_date']) if facts['business_date'] else 'null') ~ ' as date) as _business_date',
] -%}
{%- for name in ['kind', 'outcome', 'stops'] -%}
    {%- do terms.append('cast(' ~ (tidemark.string_literal(facts[name]) if facts[name] else 'null') ~ ' as string) as ' ~ name) -%}
{%- endfor -%}
{%- for name in ['rows_read', 'rows_inserted', 'rows_updated', 'rows_deleted', 'rows_unchanged', 'rows_not_supplied', 'rows_rejected', 'rows_duplicate',
                 'rows_tied', 'rows_ignored', 'rows_logged', 'rows_superseded'] -%}
    {%- do terms.append('cast(' ~ facts['counts'].get(name, 0) ~ ' as bigint) as ' ~ name) -%}
{%- endfor -%}
{%- do terms.append('cast(' ~ facts['existing'] ~ ' as bigint) as existing') -%}
{%- do terms.append('cast(' ~ (tidemark.string_literal(facts['guard']['verdict']) if facts['guard'] else 'null') ~ ' as string) as guard') -%}
{%- do terms.append('cast(' ~ tidemark.string_literal(facts['files']['current']) ~ ' as string) as current_written') -%}
{%- for name in ['current_files', 'current_files_changed'] -%}
    {%- do terms.append('cast(' ~ (facts['files'][name] if facts['files'][name] is not none else 'null') ~ ' as bigint) as ' ~ name) -%}
{%- endfor -%}
{%- for name in ['log_version', 'current_version', 'last_commit_id'] -%}
    {%- do terms.append('cast(' ~ (facts['tables'][name] if facts['tables'][name] is not none else 'null') ~ ' as bigint) as ' ~ name) -%}
{%- endfor -%}
select
    {{ terms | join(',\n    ') }}
{%- endmacro -%}
