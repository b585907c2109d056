{#- Write the intervals of the keys that `state.log` touched after `state.watermark`, and of those only the rows that differ: a change
    closes one row and opens another. Running it twice writes nothing the second time. `state.columns` are those that `body` yields,
    each with name and type; `valid_from` is the one where an interval begins. -#}
{%- macro merge_intervals_sql(relation, state, body, valid_from='_valid_from') -%}
{%- set start = valid_from if valid_from == '_valid_from' else tidemark.quote_identifier(valid_from) -%}
{%- set names = state['columns'] | map(attribute='name') | list -%}
{%- set compared = state['columns'] | rejectattr('name', 'in', ['_key_hash', valid_from]) | list -%}
merge into {{ relation }} as stored
using (
    with touched_keys as (
        select distinct _key_hash
        from {{ state['log'] }}
        where _commit_id > {{ state['watermark'] }} or _superseded_by > {{ state['watermark'] }}
    ),

    wanted as (
        select intervals.*
        from (
            {{ body | indent(12) }}
        ) as intervals
        left semi join touched_keys on intervals._key_hash <=> touched_keys._key_hash
    ),

    existing_rows as (
        select intervals.*
        from {{ relation }} as intervals
        left semi join touched_keys on intervals._key_hash <=> touched_keys._key_hash
    )

    select
        {%- for name in names %}
        {%- set quoted = tidemark.quote_identifier(name) %}
        {%- if name in ['_key_hash', valid_from] %}
        coalesce(wanted.{{ quoted }}, existing_rows.{{ quoted }}) as {{ quoted }},
        {%- else %}
        wanted.{{ quoted }},
        {%- endif %}
        {%- endfor %}
        wanted._key_hash is not null as _is_wanted
    from wanted
    full outer join existing_rows
        on wanted._key_hash <=> existing_rows._key_hash and wanted.{{ start }} <=> existing_rows.{{ start }}
    where
        wanted._key_hash is null
        or existing_rows._key_hash is null
        or {{ tidemark.rows_differ_expr(compared, 'wanted', 'existing_rows') | indent(8) }}
) as changes
    on stored._key_hash <=> changes._key_hash and stored.{{ start }} <=> changes.{{ start }}
when matched and changes._is_wanted then update set
    {%- for column in compared %}
    {{ tidemark.quote_identifier(column['name']) }} = changes.{{ tidemark.quote_identifier(column['name']) }} {{- ',' if not loop.last }}
    {%- endfor %}
when matched and not changes._is_wanted then delete
when not matched and changes._is_wanted then insert (
    {{ tidemark.column_list_expr(names) }}
) values (
    {{ tidemark.column_list_expr(names, 'changes') }}
)
{%- endmacro -%}
