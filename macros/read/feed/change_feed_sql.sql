{#- The changes of current in a range of commits, (from, to], one row each: what a forward commit appended,
    row by row, and of a correcting commit the difference that it made to current, key by key.

        commit          c1    c2    c3 (late)   c4           forward: c1, c2, c4, the row before is the pre-image
        key a           I     U     ·           D            correcting: c3, current before and after it
        key b                 I     U (net)

    `feed` is what feed_range() returns. Commits are joined, so that only completed ones are read; the literal
    bounds are there because files are skipped by them. -#}
{%- macro change_feed_sql(feed) -%}
{{ tidemark.changes_sql(feed) }}

judged as (
    {{ tidemark.judged_changes_sql(feed['roles']) | indent(4) }}
)

{{ tidemark.shown_changes_sql(feed, true) }}
{%- if feed['ordered'] %}
order by _commit_id asc nulls last, _order asc nulls last, _key_hash asc nulls last, _position asc nulls last
{%- endif %}
{%- endmacro -%}

{#- One row per key whose row at the end of a range is not that of its start: its changes in the range, folded
    from the first row before to the last row after. The commit is that of the last of them. -#}
{%- macro net_changes_sql(feed) -%}
{%- set place = 'struct(_commit_id, _position)' -%}
{{ tidemark.changes_sql(feed) }}

folded as (
    select
        _key_hash,
        max_by(struct(_commit_id, _commit_time, _business_date), {{ place }}) as _last_commit,
        max_by(_row, {{ place }}) as _row,
        min_by(struct(_pre_row), {{ place }})._pre_row as _pre_row,
        max_by(struct(_post_row), {{ place }})._post_row as _post_row
    from changes
    where {{ tidemark.is_change_expr(feed['roles']) | indent(4) }}
    group by _key_hash
),

judged as (
    {{ tidemark.judged_changes_sql(feed['roles'],
        '(select * except (_last_commit), _last_commit.* from folded)') | indent(4) }}
)

{{ tidemark.shown_changes_sql(feed, false) }}
{%- if feed['ordered'] %}
order by _commit_id asc nulls last, _key_hash asc nulls last
{%- endif %}
{%- endmacro -%}

{#- What both begin with: the changes of a range as rows before and after, those among them that are none
    included. -#}
{%- macro changes_sql(feed) -%}
with commits as (
    {{ tidemark.feed_commits_sql(feed) | indent(4) }}
),

steps as (
    {{ tidemark.touched_steps_sql(feed) | indent(4) }}
),

known_rows as (
    {{ tidemark.known_rows_sql(feed) | indent(4) }}
),

{% if feed['has_corrections'] -%}
states as (
    select
        steps._key_hash,
        steps._commit_id,
        max_by(known_rows._row, known_rows._row._order) filter (
            where known_rows._row._commit_id <= steps._commit_id
            and (known_rows._superseded_by is null or known_rows._superseded_by > steps._commit_id)
        ) as _last,
        max_by(known_rows._row, known_rows._row._order) filter (
            where known_rows._row._commit_id <= {{ feed['from'] }}
            and (known_rows._superseded_by is null or known_rows._superseded_by > {{ feed['from'] }})
        ) as _start
    from steps
    inner join known_rows on steps._key_hash = known_rows._key_hash
    group by steps._key_hash, steps._commit_id
),

transitions as (
    select
        states._key_hash,
        commits.*,
        states._last,
        if(
            row_number() over (partition by states._key_hash order by states._commit_id asc nulls last) = 1,
            states._start,
            lag(states._last) over (partition by states._key_hash order by states._commit_id asc nulls last)
        ) as _previous
    from states
    inner join commits on states._commit_id = commits._commit_id
),

changes as (
    select
        transitions.* except (_last, _previous),
        transitions._last._order,
        coalesce(transitions._last, transitions._previous) as _row,
        if(transitions._previous._operation = 'D', null, transitions._previous) as _pre_row,
        if(transitions._last._operation = 'D', null, transitions._last) as _post_row,
        1 as _position
    from transitions
    where transitions._is_correction
    union all
    select
        transitions.* except (_last, _previous),
        known_rows._row._order,
        known_rows._row,
        if(
            row_number() over {{ tidemark._within_commit() }} = 1,
            if(transitions._previous._operation = 'D', null, transitions._previous),
            lag(if(known_rows._row._operation = 'D', null, known_rows._row))
                over {{ tidemark._within_commit() }}
        ) as _pre_row,
        if(known_rows._row._operation = 'D', null, known_rows._row) as _post_row,
        row_number() over {{ tidemark._within_commit() }} as _position
    from transitions
    inner join known_rows
        on transitions._key_hash = known_rows._key_hash
            and transitions._commit_id = known_rows._row._commit_id
    where not transitions._is_correction
),
{%- else -%}
lined_up as (
    select
        _key_hash,
        _row,
        _row._commit_id as _commit_id,
        _row._order as _order,
        lag(if(_row._operation = 'D', null, _row)) over (
            partition by _key_hash
            order by if(_row._commit_id > {{ feed['from'] }}, _row._commit_id, 0) asc nulls last,
                _row._order asc nulls last
        ) as _pre_row,
        if(_row._operation = 'D', null, _row) as _post_row,
        row_number() over (partition by _key_hash, _row._commit_id
            order by _row._order asc nulls last) as _position
    from known_rows
),

changes as (
    select
        lined_up.*,
        commits.* except (_commit_id)
    from lined_up
    inner join commits on lined_up._commit_id = commits._commit_id
),
{%- endif %}
{%- endmacro -%}

{#- The commits of a range that are whole: completed, also where a rollback undid them later. -#}
{%- macro feed_commits_sql(feed) -%}
select
    commit_id as _commit_id,
    completed_at as _commit_time,
    business_date as _business_date,
    is_correction as _is_correction
from {{ feed['commits'] }}
where
    relation = {{ tidemark.string_literal(feed['cfg']['relation']) }}
    and kind in ({{ tidemark.log_kinds() }})
    and (state = 'completed' or undone_by is not null)
    and {{ tidemark.range_expr('commit_id', feed) }}
    {%- if feed.get('unit') and feed['to'] is none %}
    and commit_id <= (
        select last_id
        from (
            {{ tidemark.unit_ends_sql(feed['states'], feed['unit']) | indent(12) }}
        )
        where relation = {{ tidemark.string_literal(feed['cfg']['relation']) }}
    )
    {%- endif %}
{%- endmacro -%}

{#- Commits after `from`, up to and with `to`. -#}
{%- macro range_expr(name, feed) -%}
    {{ return(name ~ ' > ' ~ feed['from']
        ~ (' and ' ~ name ~ ' <= ' ~ feed['to'] if feed['to'] is not none else '')) }}
{%- endmacro -%}

{#- Keys and the commits of the range that did something to them. -#}
{%- macro touched_steps_sql(feed) -%}
{%- set log_relation = feed['relations']['log'] -%}
select
    _key_hash,
    _commit_id
from {{ log_relation }}
where {{ tidemark.range_expr('_commit_id', feed) }} and _operation in ('I', 'U', 'D')
union
select
    _key_hash,
    _superseded_by as _commit_id
from {{ log_relation }}
where {{ tidemark.range_expr('_superseded_by', feed) }} and _operation in ('I', 'U', 'D')
{%- endmacro -%}

{#- The rows of those keys that were in force at the start, or came since. -#}
{%- macro known_rows_sql(feed) -%}
{%- set roles = feed['roles'] -%}
select
    log._key_hash,
    log._superseded_by,
    struct(
        log._commit_id as _commit_id,
        log._operation as _operation,
        log._row_hash as _row_hash,
        {%- if roles['flow'] == 'events' %}
        log._sequence_num as _sequence_num,
        log._event_time as _event_time,
        {%- endif %}
        {{ tidemark.log_order_expr(roles, 'log') }} as _order,
        struct(
            {{ tidemark.column_list_expr(roles['stored'] | map(attribute='name'), 'log') | indent(8) }}
        ) as _image
    ) as _row
from {{ feed['relations']['log'] }} as log
left semi join steps on log._key_hash = steps._key_hash
where
    log._operation in ('I', 'U', 'D')
    {%- if feed['to'] is not none %}
    and log._commit_id <= {{ feed['to'] }}
    {%- endif %}
    and (log._superseded_by is null or log._superseded_by > {{ feed['from'] }})
{%- endmacro -%}

{%- macro _within_commit() -%}
    {{ return('(partition by transitions._key_hash, transitions._commit_id order by known_rows._row._order '
        ~ 'asc nulls last)') }}
{%- endmacro -%}

{#- Changes with their kind and the columns that differ; what is no change is left out. -#}
{%- macro judged_changes_sql(roles, changes='changes') -%}
{%- set others = roles['stored'] | rejectattr('key') | list -%}
select
    * except (_pre_row, _post_row),
    _pre_row._image as _pre_image,
    _post_row._image as _post_image,
    case when _pre_row is null then 'I' when _post_row is null then 'D' else 'U' end as _operation,
    case
        when _pre_row is not null and _post_row is not null
            then {{ tidemark.changed_columns_expr(others, '_pre_row._image',
                '_post_row._image') | indent(12) }}
    end as _changed_fields
from {{ changes }}
where {{ tidemark.is_change_expr(roles) | indent(4) }}
{%- endmacro -%}

{#- Two rows differ where their hashes do (a sensitive value may be all that changed) or their ignored
    columns. -#}
{%- macro is_change_expr(roles) -%}
    {%- set ignored = roles['ignored'] | rejectattr('sensitive') | list -%}
    {{ return('not (_pre_row._row_hash <=> _post_row._row_hash)'
        ~ ('\nor ' ~ tidemark.rows_differ_expr(ignored, '_pre_row._image', '_post_row._image') if ignored
            else '')) }}
{%- endmacro -%}

{#- The columns of a feed, with the images that are wanted, as JSON or typed; `is_single`: not folded to one
    row per key. -#}
{%- macro shown_changes_sql(feed, is_single) -%}
{%- set roles = feed['roles'] -%}
select
    {%- for column in roles['stored'] if column['key'] %}
    {%- set name = tidemark.quote_identifier(column['name']) %}
    coalesce(_post_image.{{ name }}, _pre_image.{{ name }}) as {{ name }},
    {%- endfor %}
    _key_hash,
    _operation,
    _commit_id,
    _commit_time,
    _business_date,
    {%- if is_single %}
    {%- if roles['flow'] == 'events' %}
    _row._sequence_num as _sequence_num,
    _row._event_time as _event_time,
    {%- endif %}
    _position,
    {%- endif %}
    _changed_fields,
    {{ (tidemark.change_struct_expr if feed['format'] == 'struct' else tidemark.change_json_expr)(roles,
        feed['images']) | indent(4) }} as _change
from judged
{%- endmacro -%}
