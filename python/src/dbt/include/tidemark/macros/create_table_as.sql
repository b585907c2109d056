{#- dbt-spark's, but it does not replace the current table of an entity. A Python model's table also takes
    partition_by, location_root, options and tblproperties as a SQL model's does: dbt-spark's script for Python
    writes with the format alone. -#}
{%- macro tidemark__create_table_as(temporary, relation, compiled_code, language='sql') -%}
    {%- if not temporary -%}{%- do adapter.check_no_entity(relation) -%}{%- endif -%}
    {%- if language == 'python' -%}
        {{ tidemark__python_table_script(temporary, relation, compiled_code) }}
    {%- else -%}
        {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
    {%- endif -%}
{%- endmacro -%}


{#- The compiled model (dbt's order: the user's file first) followed by its call and the write. -#}
{%- macro tidemark__python_table_script(temporary, relation, compiled_code) -%}
{%- set partition_by = config.get('partition_by') -%}
{%- if partition_by is string -%}{%- set partition_by = [partition_by] -%}{%- endif -%}
{%- set location_root = config.get('location_root') -%}
{{ compiled_code }}

# --- what dbt adds
{%- set dated = {} -%}
{%- for key, value in model['config'].items() if value is string and '{business_date}' in value -%}
    {%- do dated.update({key: value.replace('{business_date}', var('business_date', '') | string)}) -%}
{%- endfor %}
config_dict.update({{ dated | tojson }})  # {business_date} stands for the date, as in `location`
from dbt.adapters.tidemark.python_submissions import write_table

write_table(
    spark,
    model(dbtObj(spark.table), spark),
    table={{ relation | string | tojson }},
    file_format={{ config.get('file_format', 'iceberg' if var('tidemark__commits_format', 'delta') == 'iceberg' else 'delta') | tojson }},
    partition_by={{ (partition_by or []) | tojson if not temporary else '[]' }},
    location={{ (location_root ~ '/' ~ model['alias']) | tojson if location_root and not temporary else 'None' }},
    options={**{{ (config.get('options') or {}) | tojson }}, **{{ (config.get('tblproperties') or {}) | tojson }}},
)
{%- endmacro -%}
