{#- Columns of the log: the stored business columns and what Tidemark knows of the change. -#}
{%- macro log_columns(plan) -%}
    {{ return(tidemark._nullable(plan['stored']) + [
        {'name': '_key_hash', 'type': 'string', 'description': 'Hash of the key columns'},
        {'name': '_row_hash', 'type': 'string', 'description': 'Hash of the compared columns'},
        {'name': '_operation', 'type': 'string', 'description': 'I, U or D'},
        {'name': '_business_date', 'type': 'date', 'description': 'Business date of the extract'},
        {'name': '_eff_start_date', 'type': 'date', 'description': 'Date from which this state holds'},
        {'name': '_changed_columns', 'type': 'array<string>', 'description': 'Names of the columns that a U changed'},
        {'name': '_commit_id', 'type': 'bigint', 'description': 'Commit that wrote the row'},
        {'name': '_superseded_by', 'type': 'bigint', 'description': 'Commit that replaced the row; NULL while it is in force'},
    ]) }}
{%- endmacro -%}


{#- Names of the log's columns that a slice of it brings; the commit's columns are put to it when it is written. -#}
{%- macro slice_columns(plan) -%}
    {{ return(
        plan['stored'] | map(attribute='name') | list
        + ['_key_hash', '_row_hash', '_operation', '_business_date', '_eff_start_date', '_changed_columns']
    ) }}
{%- endmacro -%}


{#- Columns of current. Its constraints are set when it is made, as open-source Delta cannot add them later. -#}
{%- macro current_columns(cfg, plan) -%}
    {%- set columns = [] -%}
    {%- for column in plan['stored'] -%}
        {%- do columns.append({
            'name': column['name'],
            'type': column['type'],
            'not_null': column['not_null'],
            'description': column['description'] if cfg['persist_docs'].get('columns') else '',
        }) -%}
    {%- endfor -%}
    {{ return(columns + [
        {'name': '_key_hash', 'type': 'string'},
        {'name': '_row_hash', 'type': 'string'},
        {'name': '_operation', 'type': 'string'},
        {'name': '_eff_start_date', 'type': 'date'},
    ]) }}
{%- endmacro -%}


{#- Columns of the sensitive values: one row per log row that has them. -#}
{%- macro sensitive_columns(plan) -%}
    {{ return(tidemark._nullable(plan['sensitive']) + [
        {'name': '_key_hash', 'type': 'string'},
        {'name': '_row_hash', 'type': 'string'},
        {'name': '_business_date', 'type': 'date'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}


{#- Columns of what each load of a delta supplied: keys only, changed or not. -#}
{%- macro supplied_columns() -%}
    {{ return([
        {'name': '_key_hash', 'type': 'string'},
        {'name': '_business_date', 'type': 'date'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}


{#- Columns of quarantined rows. -#}
{%- macro rejects_columns() -%}
    {{ return([
        {'name': '_reject_reason', 'type': 'string', 'description': 'Why the row cannot be used, and the column'},
        {'name': '_key_hash', 'type': 'string', 'description': 'Hash of the key, where it could be read'},
        {'name': '_raw_payload', 'type': 'string', 'description': 'The row as it arrived, sensitive values masked'},
        {'name': '_business_date', 'type': 'date'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}


{%- macro _nullable(columns) -%}
    {%- set nullable = [] -%}
    {%- for column in columns -%}
        {%- do nullable.append({'name': column['name'], 'type': column['type']}) -%}
    {%- endfor -%}
    {{ return(nullable) }}
{%- endmacro -%}
