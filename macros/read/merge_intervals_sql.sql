{#- Write the intervals of the keys that `state.log` touched after `state.watermark`, and of those only the
    rows that differ: a change closes one row and opens another. Running it twice writes nothing the second
    time. `state.columns` are those that `body` yields, each with name and type; `starts` are those where an
    interval begins, which with the key tell it from all others. The touched keys stand behind an IN, as Spark
    takes that down to the log, beneath the windows of the body; a join it leaves where it stands. -#}
{%- macro merge_intervals_sql(relation, state, body, starts=['_valid_from']) -%}
{%- set identity = ['_key_hash'] -%}
{%- for start in starts -%}{%- do identity.append(start if start in ['_valid_from', '_known_from']
    else tidemark.quote_identifier(start)) -%}{%- endfor -%}
{%- set names = state['columns'] | map(attribute='name') | list -%}
{%- set compared = state['columns'] | rejectattr('name', 'in', ['_key_hash'] + starts) | list -%}
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
        where intervals._key_hash in (select _key_hash from touched_keys)
    ),

    existing_rows as (
        select intervals.*
        from {{ relation }} as intervals
        where intervals._key_hash in (select _key_hash from touched_keys)
    )

    select
        {%- for name in names %}
        {%- set quoted = tidemark.quote_identifier(name) %}
        {%- if name not in compared | map(attribute='name') %}
        coalesce(wanted.{{ quoted }}, existing_rows.{{ quoted }}) as {{ quoted }},
        {%- else %}
        wanted.{{ quoted }},
        {%- endif %}
        {%- endfor %}
        wanted._key_hash is not null as _is_wanted
    from wanted
    full outer join existing_rows
        on {{ tidemark.same_row_expr(identity, 'wanted', 'existing_rows', '<=>') | replace('\n', ' ') }}
    where
        wanted._key_hash is null
        or existing_rows._key_hash is null
        or {{ tidemark.rows_differ_expr(compared, 'wanted', 'existing_rows') | indent(8) }}
) as changes
    on {{ tidemark.same_row_expr(identity, 'stored', 'changes', '<=>') | replace('\n', ' ') }}
when matched and changes._is_wanted then update set
    {%- for column in compared %}
    {{ tidemark.quote_identifier(column['name']) }}
        = changes.{{ tidemark.quote_identifier(column['name']) }} {{- ',' if not loop.last }}
    {%- endfor %}
when matched and not changes._is_wanted then delete
when not matched and changes._is_wanted then insert (
    {{ tidemark.column_list_expr(names) }}
) values (
    {{ tidemark.column_list_expr(names, 'changes') }}
)
{%- endmacro -%}
