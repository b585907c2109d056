{#- The version of current that its last compact() left; an error if there is none, or if it is of another
    table. -#}
{%- macro optimized_version(relation) -%}
    {%- set name = relation.schema ~ '.' ~ relation.identifier -%}
    {%- set commits = tidemark.commits_relations(tidemark.run_config()) -%}
    {%- set row = tidemark.query_rows(tidemark.optimized_version_sql(commits['states'], name))[0] -%}
    {%- set how = ". Run dbt run-operation compact --args '{entity: " ~ relation.identifier ~ "}'" -%}
    {%- if not row['compact_count'] -%}
        {%- do tidemark.raise_error('data',
            'tidemark.read_optimized: ' ~ relation ~ ' was never compacted' ~ how) -%}
    {%- elif row['table_id'] != tidemark.table_id(relation) -%}
        {%- do tidemark.raise_error('data',
            'tidemark.read_optimized: ' ~ relation ~ ' was built again since it was compacted' ~ how) -%}
    {%- endif -%}
    {{ return(row['version']) }}
{%- endmacro -%}

{#- The id of a table: another one stands for a table that was made anew, whose versions begin again. Each
    Iceberg table has its own folder. -#}
{%- macro table_id(relation) -%}
    {%- if tidemark.lake_format() == 'iceberg' -%}
        {%- for row in run_query('describe table extended ' ~ relation) if row[0] == 'Location' -%}
            {{ return(row[1]) }}
        {%- endfor -%}
    {%- endif -%}
    {{ return(tidemark.query_rows('describe detail ' ~ relation)[0]['id']) }}
{%- endmacro -%}

{#- The version of current that its last compact() or erase_key() left, and the table's id: read_optimized()
    reads it. A version from before an erasure would still show the key. -#}
{%- macro optimized_version_sql(states, relation) -%}
select
    max_by(current_version_after, commit_id) as version,
    max_by(get_json_object(details, '$.table_id'), commit_id) filter (where kind = 'compact') as table_id,
    count_if(kind = 'compact') as compact_count
from {{ tidemark.last_commits_sql(states, relation) }}
where
    state = 'completed'
    and kind in ('compact', 'erase_key')
    and current_version_after is not null
{%- endmacro -%}
