{#- Append what a replicator applied, one row per table, to tidemark_replication; `tidemark replicator` calls it. -#}
{%- macro record_replication(rows) -%}
    {%- set run = tidemark.run_config() -%}
    {%- set relation = api.Relation.create(schema=run['commits_schema'], identifier='tidemark_replication') -%}
    {%- set columns = tidemark.replication_columns() -%}
    {%- if not tidemark.relation_exists(relation) -%}
        {%- do run_query('create schema if not exists ' ~ run['commits_schema']) -%}
        {%- do tidemark.run_statements(tidemark.for_format(run['commits_format'], 'create_table')(relation, columns, {})) -%}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}{%- do fields.append(column['name'] ~ ': ' ~ column['type']) -%}{%- endfor -%}
    {%- set names = tidemark.column_list_expr(columns | map(attribute='name') | list) -%}
    {%- do run_query(
        'insert into ' ~ relation ~ ' (' ~ names ~ ')\nselect ' ~ names ~ '\nfrom (select inline(from_json('
        ~ tidemark.string_literal(tojson(rows)) ~ ', ' ~ tidemark.string_literal('array<struct<' ~ fields | join(', ') ~ '>>') ~ ')))'
    ) -%}
{%- endmacro -%}

{#- Columns of tidemark_replication. -#}
{%- macro replication_columns() -%}
    {{ return([
        {'name': 'source', 'type': 'string', 'description': 'The dbt source'},
        {'name': 'table_name', 'type': 'string', 'description': 'schema.table of the database'},
        {'name': 'model', 'type': 'string', 'description': 'The model that mirrors it'},
        {'name': 'applied_at', 'type': 'timestamp', 'description': 'When it was applied, or failed'},
        {'name': 'state', 'type': 'string', 'description': 'REPLICATING, or FAILING'},
        {'name': 'first_file', 'type': 'bigint', 'description': 'Number of the landing file before the first that was applied'},
        {'name': 'last_file', 'type': 'bigint', 'description': 'Number of the last one'},
        {'name': 'inserts', 'type': 'bigint', 'description': 'Events of inserts'},
        {'name': 'updates', 'type': 'bigint', 'description': 'Events of updates'},
        {'name': 'deletes', 'type': 'bigint', 'description': 'Events of deletes'},
        {'name': 'reads', 'type': 'bigint', 'description': 'Rows of a snapshot'},
        {'name': 'truncates', 'type': 'bigint', 'description': 'Events of truncates'},
        {'name': 'ddl', 'type': 'bigint', 'description': 'Events of DDL'},
        {'name': 'bytes', 'type': 'bigint', 'description': 'Size of the events as they landed'},
        {'name': 'seconds', 'type': 'double', 'description': 'How long it took to apply them'},
        {'name': 'latency_p50', 'type': 'double', 'description': 'Seconds from commit in the source to commit here, of half of the changes at most'},
        {'name': 'latency_p95', 'type': 'double', 'description': 'The same of 95 %'},
        {'name': 'latency_p99', 'type': 'double', 'description': 'The same of 99 %'},
        {'name': 'failures', 'type': 'bigint', 'description': 'Failures so far'},
        {'name': 'error', 'type': 'string', 'description': 'What the failure said'},
    ]) }}
{%- endmacro -%}
