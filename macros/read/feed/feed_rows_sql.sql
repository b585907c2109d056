{#- The columns of a feed's table: those of its body, and what it is laid out by. -#}
{%- macro feed_columns(cfg, columns) -%}
    {{ return(columns + [{'name': '_commit_date', 'type': 'date'}]
        + ([{'name': '_bucket', 'type': 'int'}] if cfg['buckets'] > 1 else [])) }}
{%- endmacro -%}

{#- The changes that a feed gets: by the date of the commit, which its id tells, and by buckets of keys, so
    that writes and the files of a commit spread over `feed_buckets` tasks, and a range reads its own dates
    only. An error where the feed has some of them: then another run has appended them since this one looked.
    -#}
{%- macro feed_rows_sql(relation, cfg, state, body) -%}
select
    {{ tidemark.column_list_expr(state['columns'] | map(attribute='name')) }},
    {{ tidemark.commit_date_expr('_commit_id') }} as _commit_date
    {%- if cfg['buckets'] > 1 %},
    cast(pmod(xxhash64(_key_hash), {{ cfg['buckets'] }}) as int) as _bucket
    {%- endif %}
from (
    {{ body | indent(4) }}
)
where
    if(
        (select count(*) from {{ relation }} where {{ state['others'] }}) = 0,
        true,
        raise_error({{ tidemark.string_literal(tidemark.other_run_message(cfg['model'])) }})
    )
{%- if cfg['buckets'] > 1 %}
distribute by _bucket
{%- endif %}
{%- endmacro -%}

{%- macro other_run_message(model) -%}
    {{ return(model
        ~ ': another run of the model read the same changes meanwhile. This run wrote nothing. Run the '
        ~ 'model again') }}
{%- endmacro -%}

{#- The UTC date on which a commit began, from its id. -#}
{%- macro commit_date_expr(commit_id) -%}
    {{ return("to_date(substr(cast(" ~ commit_id ~ " as string), 1, 6), 'yyMMdd')") }}
{%- endmacro -%}

{#- The greatest commit id of a relation, whatever came of it, and that of what it has read as a feed. -#}
{%- macro last_commit_id_sql(states, relation) -%}
select
    coalesce(max(commit_id), 0) as last_id,
    coalesce(max(commit_id) filter (where kind = 'feed' and state = 'completed'), 0) as read_id
from {{ states }}
where relation = {{ tidemark.string_literal(relation) }}
{%- endmacro -%}

{#- The changes of several sources as one: their own columns give way to `_entity`. Each part is a feed with
    `_change` as JSON. -#}
{%- macro union_feeds_sql(parts) -%}
{%- for part in parts %}
select
    {{ tidemark.string_literal(part['entity']) }} as _entity,
    _key_hash,
    _operation,
    _commit_id,
    _commit_time,
    _business_date,
    {{ '_sequence_num' if part['has_sequence'] else 'cast(null as bigint) as _sequence_num' }},
    {{ '_event_time' if part['has_sequence'] else 'cast(null as timestamp) as _event_time' }},
    _position,
    _changed_fields,
    _change
from (
    {{ part['sql'] | indent(4) }}
)
{{ 'union all' if not loop.last }}
{%- endfor %}
{%- endmacro -%}

{#- How far several entities can be read as one: for each the last commit that wrote the log and was completed
    before the first of those in flight began, so that what one run writes to them is seen together or not
    yet. -#}
{%- macro unit_ends_sql(states, relations) -%}
with commits as (
    select *
    from {{ tidemark.last_commits_sql(states,
        condition='relation in (' ~ tidemark.string_literals(relations) ~ ')') | indent(4) }}
    where kind in ({{ tidemark.log_kinds() }}, 'repeat')
)

select
    relation,
    coalesce(max(commit_id), 0) as last_id
from commits
cross join (select min(running.started_at) filter (where running.state = 'inflight') as _begun
    from commits as running) as in_flight
where
    (state = 'completed' or undone_by is not null)
    and kind <> 'repeat'
    and (_begun is null or completed_at < _begun)
group by relation
{%- endmacro -%}

{#- The statement that appends to a feed. -#}
{%- macro append_to_feed(cfg, relation, state, body) -%}
    {%- set names = tidemark.feed_columns(cfg, state['columns']) | map(attribute='name') | list -%}
    {%- set rows = tidemark.feed_rows_sql(relation, cfg, state, body) -%}
    {{ return(tidemark.for_format(cfg['file_format'], 'append_to_feed')(relation, names, rows,
        state['after'])[0]) }}
{%- endmacro -%}
