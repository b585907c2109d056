{#- The rows of a log for intervals of both axes, in brackets: each once for each span of commits
    (`_tidemark_known_from`, up to but not with `_tidemark_known_to`) in which it is in force. Within a span
    and a key all is as with one axis. `row_names` tell a row from others. -#}
{%- macro known_log_sql(log_relation, row_names, begins='true') -%}
(
    with spans as (
        {{ tidemark.known_spans_sql(log_relation, begins) | indent(8) }}
    )

    select
        log.*,
        struct({{ tidemark.column_list_expr(row_names, 'log') | replace(',\n    ', ', ') }}) as _tidemark_row,
        spans._tidemark_known_from,
        spans._tidemark_known_to
    from (select * from {{ log_relation | string | indent(4) }}) as log
    inner join spans
        on
            log._key_hash = spans._key_hash
            and {{ tidemark.in_force_expr('spans._tidemark_last', 'log') }}
)
{%- endmacro -%}

{#- The spans of commits of each key: one begins with each commit that appended rows of the key for which
    `begins` holds, or that superseded one. So in a span rows only come, and its last commit
    (`_tidemark_last`) knows them all. -#}
{%- macro known_spans_sql(log_relation, begins) -%}
select
    _key_hash,
    min(moment) as _tidemark_known_from,
    max(moment) as _tidemark_last,
    lead(min(moment)) over (partition by _key_hash order by min(moment) asc nulls last) as _tidemark_known_to
from (
    select
        _key_hash,
        moment,
        count_if(begins) over (
            partition by _key_hash order by moment asc nulls last
            rows between unbounded preceding and current row
        ) as span
    from (
        select
            _key_hash,
            moment,
            bool_or(begins) as begins
        from (
            select
                _key_hash,
                _commit_id as moment,
                {{ begins | indent(16) }} as begins
            from {{ log_relation | string | indent(12) }}
            where _key_hash is not null
            union all
            select
                _key_hash,
                _superseded_by as moment,
                true as begins
            from {{ log_relation | string | indent(12) }}
            where _key_hash is not null and _superseded_by is not null
        )
        group by _key_hash, moment
    )
)
group by _key_hash, span
{%- endmacro -%}

{#- Whether rows of an extract's log are no mere next date of their key: the key had a date as late as that
    before. Only then a span begins; a next date ends but the open interval before it, so that a history which
    was loaded in order is read once. -#}
{%- macro is_no_next_date_expr() -%}
coalesce(
    _business_date <= max(_business_date) over (
        partition by _key_hash order by _commit_id asc nulls last
        range between unbounded preceding and 1 preceding
    ),
    true
)
{%- endmacro -%}
