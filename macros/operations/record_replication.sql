{#- Append what a replicator applied, one row per table, to tidemark_replication; `tidemark replicator` calls
    it. -#}
{%- macro record_replication(rows) -%}
    {%- do tidemark.check_loads('tidemark_replication') -%}
    {%- set run = tidemark.run_config() -%}
    {%- set relation = api.Relation.create(schema=run['commits_schema'],
        identifier='tidemark_replication') -%}
    {%- set columns = tidemark.replication_columns() -%}
    {%- if not tidemark.relation_exists(relation) -%}
        {%- do run_query('create schema if not exists ' ~ run['commits_schema']) -%}
        {%- do tidemark.run_statements(tidemark.for_format(run['commits_format'], 'create_table')(relation,
            columns, {})) -%}
    {%- endif -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append(column['name'] ~ ': ' ~ column['type']) -%}
    {%- endfor -%}
    {%- set names = tidemark.column_list_expr(columns | map(attribute='name') | list) -%}
    {%- do run_query(
        'insert into ' ~ relation ~ ' (' ~ names ~ ')\nselect ' ~ names ~ '\nfrom (select inline(from_json('
        ~ tidemark.string_literal(tojson(rows)) ~ ', '
            ~ tidemark.string_literal('array<struct<' ~ fields | join(', ') ~ '>>') ~ ')))'
    ) -%}
{%- endmacro -%}

{%- macro replication_columns() -%}
    {%- set columns -%}
source string The dbt source
table_name string schema.table of the database
model string The model that mirrors it
applied_at timestamp When it was applied, or failed
state string REPLICATING, or FAILING
first_file bigint Number of the landing file before the first that was applied
last_file bigint Number of the last one
inserts bigint Events of inserts
updates bigint Events of updates
deletes bigint Events of deletes
reads bigint Rows of a snapshot
truncates bigint Events of truncates
ddl bigint Events of DDL
bytes bigint Size of the events as they landed
seconds double How long it took to apply them
latency_p50 double Seconds from commit in the source to commit here, of half of the changes at most
latency_p95 double The same of 95 %
latency_p99 double The same of 99 %
failures bigint Failures so far
error string What the failure said
    {%- endset -%}
    {{ return(tidemark.described_columns(columns)) }}
{%- endmacro -%}
