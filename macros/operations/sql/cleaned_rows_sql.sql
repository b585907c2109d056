{#- The log rows in force that nobody needs who knows of the commits after `floor`: those that another row of
    their key had followed by then, and all rows of a key that was gone by then.

        log of a key     I   U   U │ U        removed: I and U, as the third row says what held at the floor
        log of a key     I   U   D │          removed: all three, as nothing says the same (not with soft_delete)
                                   floor

    What a key was at any commit after the floor, current among it, stays exact. Of change events a row that
    had not brought every column is no such third row, and a row is kept that another one took values from, or
    that is the first that a snapshot read: late events are replayed from what is kept. With `kept` the rows
    that stay for these reasons alone. -#}
{%- macro cleaned_rows_sql(cfg, roles, log_relation, floor, kept=false) -%}
{%- set events = roles.get('flow') == 'events' -%}
{%- set in_force = tidemark.change_in_force_expr(roles) -%}
{%- set needed = 'max(_is_needed) over (partition by _key_hash)' -%}
with known_rows as (
    select
        log._key_hash,
        log._business_date,
        log._commit_id,
        log._superseded_by,
        log._operation,
        {%- if events %}
        log._event_id,
        log._source_operation,
        log._unsupplied,
        sources._key_hash is not null or coalesce(
            log._source_operation = 'READ' and log._event_id = min_by(
                if(log._source_operation = 'READ', log._event_id, null),
                    if(log._source_operation = 'READ', {{ tidemark.sequence_expr(roles, 'log') }}, null)
            ) over (partition by log._offset),
            false
        ) as _is_needed,
        {%- endif %}
        {{ tidemark.log_order_expr(roles, 'log') }} as _tidemark_order
    from {{ log_relation }} as log
    {%- if events %}
    left join (
        select distinct _moved_from as _key_hash
        from {{ log_relation }}
        where _moved_from is not null and size(_unsupplied) > 0 and {{ tidemark.in_force_expr() }}
    ) as sources on log._key_hash = sources._key_hash
    {%- endif %}
    where log._key_hash is not null
),

judged_rows as (
    select
        *,
        max(if(
            {{ in_force }} and _commit_id <= {{ floor }} {{- ' and coalesce(size(_unsupplied), 0) <= 0'
                if events }}, _tidemark_order, null
        )) over (partition by _key_hash) as _tidemark_anchor,
        {%- if kept %}
        max(if({{ in_force }} and _commit_id <= {{ floor }}, _tidemark_order, null))
            over (partition by _key_hash) as _tidemark_last,
        {%- endif %}
        {%- if cfg['soft_delete'] %}
        false as _is_gone
        {%- else %}
        max_by(if({{ in_force }}, _operation, null), if({{ in_force }}, _tidemark_order, null))
            over (partition by _key_hash) = 'D'
        and max(_commit_id) over (partition by _key_hash) <= {{ floor }}
        and coalesce(max(_superseded_by) over (partition by _key_hash), 0) <= {{ floor }}
        {%- if events %}
        and not {{ needed }}
        {%- endif %} as _is_gone
        {%- endif %}
    from known_rows
)

select
    _key_hash,
    _business_date,
    _commit_id {{- ',' if events }}
    {%- if events %}
    _event_id,
    _source_operation
    {%- endif %}
from judged_rows
where
    _superseded_by is null
    and _commit_id <= {{ floor }}
    {%- if kept %}
    and _tidemark_order < _tidemark_last
    and not coalesce(_is_gone, false)
    and (_is_needed or not coalesce(_tidemark_order < _tidemark_anchor, false))
    {%- else %}
    and (_tidemark_order < _tidemark_anchor or _is_gone)
    {%- if events %}
    and not _is_needed
    {%- endif %}
    {%- endif %}
{%- endmacro -%}

{#- What a log row is found by. -#}
{%- macro log_row_names(roles) -%}
    {{ return(tidemark.sensitive_key(roles)
        + (['_source_operation'] if roles.get('flow') == 'events' else [])) }}
{%- endmacro -%}

{#- Sensitive values of commits up to `floor` whose log row is gone. Later ones may belong to a commit that is
    being written. -#}
{%- macro orphaned_sensitive_sql(roles, relations, floor) -%}
{%- set names = tidemark.sensitive_key(roles) -%}
select
    {{ tidemark.column_list_expr(names, 'sensitive') }}
from {{ relations['sensitive'] }} as sensitive
left anti join {{ relations['log'] }} as log
    on {{ tidemark.same_row_expr(names, 'sensitive', 'log', '<=>') | replace('\n', ' ') }}
where sensitive._commit_id <= {{ floor }}
{%- endmacro -%}
