{#-
    What is wrong when the history of a cdc model is replayed in order of business date: changes that do not follow from
    the ones before them (a U or D of a key that is not there, an I of one that is, a U that changes nothing, unless what
    it changed is not compared any more since a `rehash`), and keys whose last state is not what current holds, once and
    column by column, but for the columns that it has no more. What `clean` took away comes before the first row of a key,
    which then may be of any kind.
-#}
{% test history_replays_to_current(model) %}

{%- set flow = tidemark.flow_of(model) %}
{%- set order = tidemark.log_order_expr(flow) %}
{%- set of_events = tidemark.event_log_columns(flow) | map(attribute='name') | list %}
{%- set not_business = '_key_hash, _row_hash, _operation, _eff_start_date' %}
{%- set not_of_current = ([not_business] + of_events | select('in', ['_sequence_num', '_sequence_by']) | list) | join(', ') %}
{%- set not_of_history = ([not_business] + of_events) | join(', ') %}
{%- set gone = tidemark.columns_gone(model) %}
{%- set row_values %}to_json(
            struct(* except ({{ not_of_history }}, _business_date, _changed_columns, _commit_id
                {%- for name in gone %}, {{ tidemark.quote_identifier(name) }}{% endfor %})),
            map('ignoreNullFields', 'false')
        ){% endset %}
{%- set rehashed_at = tidemark.rehashed_at(model) %}
{%- set is_cleaned = tidemark.cleaned_until(model) > 0 %}
with changes as (
    select
        _key_hash,
        _business_date,
        _operation,
        _row_hash,
        _commit_id,
        {{ row_values }} as row_values,
        {%- if gone %}
        lag({{ row_values }}) over (partition by _key_hash order by {{ order }} asc nulls last) as row_values_before,
        {%- endif %}
        lag(_operation) over (partition by _key_hash order by {{ order }} asc nulls last) as operation_before,
        lag(_row_hash) over (partition by _key_hash order by {{ order }} asc nulls last) as row_hash_before,
        row_number() over (partition by _key_hash order by {{ order }} desc nulls last) as from_last
    from {{ tidemark.history(model) }}
),

broken_changes as (
    select
        _key_hash,
        _business_date,
        _operation,
        case
            when _operation = 'I' and operation_before <> 'D' then 'I of a key that is there'
            {%- if is_cleaned %}
            when operation_before is null then null
            {%- endif %}
            when _operation in ('U', 'D') and coalesce(operation_before, 'D') = 'D'
                then concat(_operation, ' of a key that is not there')
            when _operation = 'U' and _row_hash <=> row_hash_before
                {%- if rehashed_at %} and _commit_id > {{ rehashed_at }}{% endif %} then 'U that changes nothing'
            when _operation = 'D' and not (_row_hash <=> row_hash_before)
                {%- if gone %} and not (row_values <=> row_values_before){% endif %} then 'D without the last known row'
        end as problem
    from changes
),

replayed as (
    select * from changes
    where from_last = 1
),

current_rows as (
    select
        _key_hash,
        _operation,
        _row_hash,
        _eff_start_date,
        count(*) over (partition by _key_hash) as row_count,
        to_json(struct(* except ({{ not_of_current }})), map('ignoreNullFields', 'false')) as row_values
    from {{ model }}
),

broken_keys as (
    select
        coalesce(replayed._key_hash, current_rows._key_hash) as _key_hash,
        replayed._business_date,
        current_rows._operation,
        case
            when replayed._key_hash is null then 'in current, not in history'
            when current_rows.row_count > 1 then 'more than once in current'
            when current_rows._key_hash is null and replayed._operation <> 'D' then 'in history, not in current'
            when current_rows._key_hash is null then null
            when (replayed._operation = 'D') <> (current_rows._operation = 'D') then 'deleted in only one of both'
            when not (replayed._row_hash <=> current_rows._row_hash) then 'current has another row'
            when not (replayed._business_date <=> current_rows._eff_start_date) then 'current has another date'
            when not (replayed.row_values <=> current_rows.row_values) then 'current has other values'
        end as problem
    from replayed
    full outer join current_rows on replayed._key_hash <=> current_rows._key_hash
)

select * from broken_changes
where problem is not null
union all
select * from broken_keys
where problem is not null

{% endtest %}
