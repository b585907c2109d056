{#- What is known of a kept scd2 table, as one row: its last commit, how far that had read, and the last
    commit of its entity that did more to the log than append to it. -#}
{%- macro scd2_watermark_sql(commits, relation, entity) -%}
with last_runs as (
    select
        max(commit_id) as last_id,
        max(commit_id) filter (where state = 'completed') as commit_id,
        max_by(source_commit_id, commit_id) filter (where state = 'completed') as source_commit_id,
        max_by(rows_read, commit_id) filter (where state = 'completed') as rows_read,
        max_by(config, commit_id) filter (where state = 'completed') as config
    from {{ commits }}
    where relation = {{ tidemark.string_literal(relation) }} and kind = 'scd2'
),

replaced_logs as (
    select max(commit_id) as commit_id
    from {{ commits }}
    where
        relation = {{ tidemark.string_literal(entity) }}
        and kind in ({{ tidemark.replacing_kinds() }})
        and state = 'completed'
)

select
    last_runs.last_id,
    coalesce(last_runs.commit_id, 0) as commit_id,
    coalesce(last_runs.source_commit_id, 0) as source_commit_id,
    coalesce(last_runs.rows_read, 0) as rows_read,
    last_runs.config,
    coalesce(replaced_logs.commit_id, 0) as log_commit_id
from last_runs
cross join replaced_logs
{%- endmacro -%}

{#- How far a log goes, and how many rows it has in force, now and as of `watermark`. The latter never changes
    while a log is appended to: another number means that rows went away or that it is another log. With both
    `axes` rows that are superseded count too. -#}
{%- macro scd2_log_sql(log_relation, watermark, axes=['business']) -%}
{%- set every = axes | length > 1 -%}
select
    coalesce(greatest(max(_commit_id), max(_superseded_by)), 0) as last_commit_id,
    {{ 'count(*)' if every else 'count_if(' ~ tidemark.in_force_expr() ~ ')' }} as row_count,
    count_if({{ '_commit_id <= ' ~ watermark if every else tidemark.in_force_expr(watermark) }})
        as watermark_count
from {{ log_relation }}
{%- endmacro -%}
