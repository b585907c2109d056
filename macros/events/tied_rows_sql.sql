{#- How often the order at one key and sequence was not the source's to say: events of the batch beyond the
    first that bring another content to a place that an event of the batch or, with `load.late`, of the log
    has already. -#}
{%- macro tied_rows_sql(cfg, roles, relations, staged, load) -%}
{%- set sequence = tidemark.sequence_expr(cfg) -%}
select coalesce(sum(_contents - greatest(_known_contents, 1)), 0) as row_count
from (
    select
        count(distinct _content) as _contents,
        count(distinct if(_is_new, null, _content)) as _known_contents
    from (
        select
            _key_hash,
            {{ sequence }} as _place,
            if(_tidemark_effect = 'delete', 'deleted', {{ tidemark.row_hash_expr(roles['compared'],
                cfg['hash']) | indent(12) }}) as _content,
            true as _is_new
        from {{ staged }}
        where _is_usable and _tidemark_effect in ('upsert', 'delete')
        {%- if load['late'] %}
        union all
        select
            log._key_hash,
            {{ tidemark.sequence_expr(cfg, 'log') }},
            if(log._source_operation in ('DELETE', 'MOVE_OUT'), 'deleted', log._row_hash),
            false
        from {{ relations['log'] }} as log
        left semi join {{ staged }} as staged
            on
                staged._is_usable and log._key_hash = staged._key_hash
                and {{ tidemark.sequence_expr(cfg, 'log') }} <=> {{ tidemark.sequence_expr(cfg, 'staged') }}
        where {{ tidemark.in_force_expr(alias='log') }}
            and log._source_operation not in ('TRUNCATE', 'SNAPSHOT', 'ADD_COLUMN')
        {%- endif %}
    )
    group by _key_hash, _place
    having max(_is_new)
)
{%- endmacro -%}

{#- Whether events of a key can come to one place at all: the order of arrival has none twice. -#}
{%- macro can_tie(cfg) -%}
    {{ return(cfg['sequence_by'] | length > 0 or cfg['format'] == 'canonical') }}
{%- endmacro -%}

{#- A row where the log has a place with more than one event, or one of the whole table, which has its place
    at every key. -#}
{%- macro any_tie_sql(cfg, roles, relations) -%}
select 1
from {{ relations['log'] }}
where {{ tidemark.in_force_expr() }}
group by {{ '_key_hash' if roles['keyed'] else '_row_hash' }}, {{ tidemark.sequence_expr(cfg) }}
having count(distinct _event_id) > 1 or max(_operation = 'T')
limit 1
{%- endmacro -%}
