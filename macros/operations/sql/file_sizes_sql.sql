{#- How the files of a table are, by partition where `partition_by` names its column: how many, how many of
    them are smaller than three quarters of the size they should have, and bytes. Partitions with most small
    files come first. -#}
{%- macro file_sizes_sql(relation, target_bytes, partition_by=none) -%}
{%- set is_small = 'file_size < 0.75 * ' ~ target_bytes -%}
select
    {{ 'partition_value' if partition_by else 'cast(null as string) as partition_value' }},
    count(*) as file_count,
    count_if({{ is_small }}) as small_count,
    coalesce(sum(file_size), 0) as byte_count
from (
    {%- if tidemark.lake_format() == 'iceberg' %}
    select
        {%- if partition_by %}
        cast(partition.{{ tidemark.quote_identifier(partition_by) }} as string) as partition_value,
        {%- endif %}
        file_size_in_bytes as file_size
    from spark_catalog.{{ relation }}.files
    where content = 0
    {%- else %}
    select
        {%- if partition_by %}
        cast({{ tidemark.quote_identifier(partition_by) }} as string) as partition_value,
        {%- endif %}
        _metadata.file_path as file_path,
        max(_metadata.file_size) as file_size
    from {{ relation }}
    group by {{ 'partition_value, ' if partition_by }}file_path
    {%- endif %}
)
{%- if partition_by %}
group by partition_value
{%- endif %}
order by small_count desc nulls last, partition_value desc nulls last
{%- endmacro -%}

{#- OPTIMIZE of a table or of one partition; `zorder_by` puts rows with near values into the same files. -#}
{%- macro optimize_sql(relation, partition_by=none, partition_value=none, zorder_by=none) -%}
optimize {{ relation }}
{%- if partition_by and partition_value is none %}
where {{ tidemark.quote_identifier(partition_by) }} is null
{%- elif partition_by %}
where {{ tidemark.quote_identifier(partition_by) }} = {{ tidemark.string_literal(partition_value) }}
{%- endif %}
{%- if zorder_by %}
zorder by ({{ zorder_by }})
{%- endif %}
{%- endmacro -%}

{#- The same of an Iceberg table. -#}
{%- macro rewrite_files_sql(relation, partition_by, partition_value, zorder_by, target_bytes) -%}
{%- set arguments = [
    'table => ' ~ tidemark.string_literal(relation | string),
    "options => map('target-file-size-bytes', '" ~ target_bytes ~ "', 'min-input-files', '2')",
] -%}
{%- if zorder_by -%}{%- do arguments.append("strategy => 'sort', sort_order => "
    ~ tidemark.string_literal(zorder_by)) -%}{%- endif -%}
{%- if partition_by -%}
    {%- set term = ' is null' if partition_value is none else " = date'" ~ partition_value ~ "'" -%}
    {%- do arguments.append('where => ' ~ tidemark.string_literal(partition_by ~ term)) -%}
{%- endif -%}
call spark_catalog.system.rewrite_data_files({{ arguments | join(', ') }})
{%- endmacro -%}
