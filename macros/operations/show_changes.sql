{#- Print what the updates of a business date changed, for a few keys of an entity, with old and new values:
    dbt run-operation show_changes --args '{entity: airports, business_date: "2026-03-04"}' -#}
{%- macro show_changes(entity, business_date, limit=5, format='text') -%}
    {%- set cfg = tidemark.entity_config(tidemark.entity_node(entity)) -%}
    {%- do tidemark.refuse_events(cfg, 'show_changes') -%}
    {%- set log_relation = tidemark.side_relation(cfg['target'], 'log') -%}
    {%- set columns = tidemark.describe_query('select * from ' ~ log_relation) | rejectattr('name', 'in',
        tidemark.reserved_columns()) | list -%}
    {%- set shown = columns | map(attribute='name') | map('lower') | list -%}
    {%- set keys = [] -%}
    {%- for key in cfg['keys'] if key | lower in shown -%}{%- do keys.append(key) -%}{%- endfor -%}
    {%- set date = tidemark._business_date(business_date) -%}
    {%- set updated = tidemark.query_rows(tidemark.updated_rows_sql(log_relation, keys, columns, date,
        limit | int)) -%}
    {%- set hashes = updated | map(attribute='_key_hash') | list -%}
    {%- set before = tidemark.query_rows(tidemark.rows_before_sql(log_relation, columns, hashes, date))
        if hashes else [] -%}
    {%- set rows = tidemark.changed_values(updated, before) -%}
    {%- if format == 'json' -%}
        {%- do log('tidemark changes '
            ~ tojson({'entity': entity, 'business_date': business_date | string, 'rows': rows}),
            info=true) -%}
    {%- else -%}
        {%- do log(entity ~ ' ' ~ business_date ~ ': ' ~ (rows | length or 'no')
            ~ ' changed values of the first ' ~ limit ~ ' updated keys', info=true) -%}
        {%- for row in rows -%}
            {%- do log('  ' ~ row['key'] ~ '  ' ~ row['column_name'] ~ ': ' ~ row['old_value'] ~ ' -> '
                ~ row['new_value'], info=true) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
