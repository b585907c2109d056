{#- One row about the commits of an entity and a range: the last completed commit that wrote the log, the
    configuration, what is in flight, from where on changes are kept, and the commits that `moments` stand for
    (from, to; each {kind, value} or none). A repeat is no end of what was read: commits that a promoted clone
    made before it come in front of it. -#}
{%- macro span_sql(states, relation, moments) -%}
with commits as {{ tidemark.last_commits_sql(states, relation) }},

written as (
    select
        *,
        state = 'completed' or undone_by is not null as is_whole,
        max(if(kind = 'full_refresh' and state = 'completed', commit_id, 0)) over () as log_start
    from commits
    where kind in ({{ tidemark.log_kinds() }}, 'repeat')
)

select
    max(commit_id) filter (where is_whole and kind <> 'repeat') as last_id,
    max_by(config, commit_id) filter (where state = 'completed' and config is not null) as config,
    min(commit_id) filter (where state = 'inflight') as inflight_id,
    date_format(min(started_at) filter (where state = 'inflight'), 'yyyy-MM-dd HH:mm:ss') as inflight_at,
    coalesce(max(log_start), 0) as log_start_id,
    coalesce(any_value(floor_id), 0) as floor_id,
    date_format(max(completed_at) filter (where commit_id = floor_id), 'yyyy-MM-dd HH:mm:ss') as floor_at
    {%- for name, moment in moments.items() if moment %},
    {{ tidemark._moment_expr(name, moment) | indent(4) }} as {{ name }}_id
    {%- if moment['kind'] == 'timestamp' %},
    any_value({{ name }}_at) > current_timestamp() as {{ name }}_is_future,
    coalesce(min(started_at) filter (where state = 'inflight') <= any_value({{ name }}_at),
        false) as {{ name }}_is_open
    {%- endif %}
    {%- endfor %}
from written
cross join (
    select
        {%- for name, moment in moments.items() if moment %}
        {{ tidemark._moment_time_expr(states, moment) }} as {{ name }}_at,
        {%- endfor %}
        (
            {{ tidemark.feed_floor_sql(states, relation) | indent(12) }}
        ) as floor_id
) as asked
{%- endmacro -%}

{#- The commit that a moment stands for; a commit of another entity stands for the time at which it was
    completed. A date that was loaded again since the log was begun anew is its first commit in this log. -#}
{%- macro _moment_expr(name, moment) -%}
    {%- set until = 'max(commit_id) filter (where is_whole and completed_at <= ' ~ name ~ '_at)' -%}
    {%- if moment['kind'] == 'timestamp' -%}
        {{ return('coalesce(' ~ until ~ ', 0)') }}
    {%- elif moment['kind'] == 'date' -%}
        {%- set loads = "is_whole and kind in ('load', 'full_refresh') and business_date = date'"
            ~ moment['value'] ~ "'" -%}
        {%- set firsts = [] -%}
        {%- for condition in [' and commit_id >= log_start and undone_by is null',
            ' and commit_id >= log_start', ''] -%}
            {%- do firsts.append('min(commit_id) filter (where ' ~ loads ~ condition ~ ')') -%}
        {%- endfor -%}
        {{ return('coalesce(' ~ firsts | join(', ') ~ ')') }}
    {%- elif moment['value'] | int == 0 -%}
        {{ return('cast(0 as bigint)') }}
    {%- endif -%}
    {{ return('coalesce(max(commit_id) filter (where is_whole and commit_id = ' ~ moment['value'] ~ '), '
        ~ until ~ ')') }}
{%- endmacro -%}

{%- macro _moment_time_expr(states, moment) -%}
    {%- if moment['kind'] == 'timestamp' -%}
        {{ return('try_cast(' ~ tidemark.string_literal(moment['value']) ~ ' as timestamp)') }}
    {%- elif moment['kind'] == 'commit' -%}
        {{ return("(select max(completed_at) from " ~ states ~ " where state = 'completed' and commit_id = "
            ~ moment['value'] ~ ')') }}
    {%- endif -%}
    {{ return('cast(null as timestamp)') }}
{%- endmacro -%}

{#- How many commits of a range did more to the log than append to its end. -#}
{%- macro count_corrections_sql(states, relation, span) -%}
select count(*)
from {{ states }}
where
    relation = {{ tidemark.string_literal(relation) }}
    and coalesce(is_correction, true)
    and kind in ({{ tidemark.log_kinds() }})
    and commit_id > {{ span['from'] }}
    and commit_id <= {{ span['to'] }}
{%- endmacro -%}

{#- Completed commits of an entity around a moment that is none of them, for a message. -#}
{%- macro nearby_commits_sql(states, relation, moment) -%}
select
    commit_id,
    loaded_date
from (
    select
        commit_id,
        max(business_date) as loaded_date
    from {{ states }}
    where
        relation = {{ tidemark.string_literal(relation) }}
        and kind in ({{ tidemark.log_kinds() }})
        and state = 'completed'
    group by commit_id
)
order by {{ 'abs(commit_id - ' ~ moment['value'] ~ ')' if moment['kind'] == 'commit'
    else "abs(datediff(loaded_date, date'" ~ moment['value'] ~ "'))" }} asc nulls last
limit 4
{%- endmacro -%}
