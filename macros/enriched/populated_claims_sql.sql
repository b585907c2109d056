{#- The commits of populate_manifest that claimed a model's own events, `events`, or those of other tables.
    -#}
{%- macro populations_sql(states, relation, events, of_others=false) -%}
select distinct commit_id
from {{ states }}
where
    relation = {{ tidemark.string_literal(relation) }}
    and kind = 'populate_manifest'
    and get_json_object(details,
        '$.from') {{ '<>' if of_others else '=' }} {{ tidemark.string_literal(events | string) }}
order by commit_id asc nulls last
{%- endmacro -%}

{#- What commits of populate_manifest claimed, `populated`, of the events that none but the batches `ids`
    have. -#}
{%- macro populated_claims_sql(events, ids, populated) -%}
with stored as (
    select
        {{ tidemark.original_id_expr() }} as event_id,
        event_fingerprint as fingerprint,
        _commit_id in ({{ ids | join(', ') }}) as _goes
    from {{ events }}
)

select
    goes.event_id,
    goes.fingerprint,
    claims._commit_id
from (
    select
        event_id,
        fingerprint
    from stored
    group by event_id, fingerprint
    having every(_goes)
) as goes
cross join (select explode(array({{ populated | join(', ') }})) as _commit_id) as claims
{%- endmacro -%}
