{#- The contexts and self-describing events of a batch's stored events, a row each. -#}
{%- macro entity_rows_sql(cfg, events, decided, load) -%}
with stored as (
    select
        {{ load['commit_id'] }} as _commit_id,
        coalesce(decided._new_id, lower(events.event_id)) as _root_id,
        {{ 'events.collector_tstamp' if cfg['is_rows']
            else tidemark.enriched_value_expr({'name': 'collector_tstamp', 'type': 'timestamp'}) }}
                as _root_tstamp,
        {%- for name in ['contexts', 'unstruct_event', 'derived_contexts'] %}
        {{ tidemark.envelope_expr(name, 'events.' ~ name) }} as _{{ name }},
        {%- endfor %}
        if(decided._new_id is null {{ 'or events._original_id is not null' if cfg['is_rows'] }}, null,
            lower(events.event_id)) as _duplicate_of
    from {{ events }} as events
    left join {{ decided }} as decided on events._row = decided._row
    where
        (decided._kind is null or startswith(decided._kind, 'synthetic'))
        and {{ tidemark.still_inflight_expr(load) }}
),

{{ tidemark._exploded_entities_sql() }}
{%- endmacro -%}

{#- The same of all events that are stored, which have their new ids and `duplicate` contexts by now. -#}
{%- macro stored_entities_sql(atomic_events) -%}
with stored as (
    select
        _commit_id,
        event_id as _root_id,
        collector_tstamp as _root_tstamp,
        {%- for name in ['contexts', 'unstruct_event', 'derived_contexts'] %}
        {{ tidemark.envelope_expr(name, name) }} as _{{ name }},
        {%- endfor %}
        cast(null as string) as _duplicate_of
    from {{ atomic_events }}
),

{{ tidemark._exploded_entities_sql() }}
{%- endmacro -%}

{%- macro _exploded_entities_sql() -%}
{%- set entity = "named_struct('field', {field}, 'position', {position}, 'uri', {x}.schema, 'data', "
    ~ "to_json({x}.data))" -%}
-- outer: of an inner one Spark makes a filter that parses the JSON once more
exploded as (
    select
        _commit_id,
        _root_id,
        _root_tstamp,
        inline_outer(concat(
            coalesce(transform(_contexts[0].data, (x, i) -> {{ entity.format(field="'contexts'", position='i',
                x='x') }}), array()),
            if(_unstruct_event[0].data is null, array(), array({{ entity.format(field="'unstruct_event'",
                position='0', x='_unstruct_event[0].data') }})),
            if(_duplicate_of is null, array(), array(named_struct(
                'field', 'derived_contexts',
                'position', 0,
                'uri', 'iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0',
                'data', {{ tidemark.duplicate_data_expr('_duplicate_of') }}
            ))),
            coalesce(transform(
                _derived_contexts[0].data,
                (x, i) -> {{ entity.format(field="'derived_contexts'",
                    position='i + if(_duplicate_of is null, 0, 1)', x='x') }}
            ), array())
        ))
    from stored
),

addressed as (
    select
        *,
        split(substr(uri, 6), '/') as _parts
    from exploded
    where uri is not null
)

select /*+ rebalance(vendor, name, model) */
    named_struct('vendor', _parts[0], 'name', _parts[1], 'format', _parts[2], 'version',
        _parts[3]) as `schema`,
    data,
    named_struct(
        'root_id', _root_id,
        'root_tstamp', _root_tstamp,
        'ref_root', 'events',
        'ref_tree', array('events', _parts[1]),
        'ref_parent', 'events'
    ) as hierarchy,
    field,
    position,
    _commit_id,
    _parts[0] as vendor,
    _parts[1] as name,
    cast(split_part(_parts[3], '-', 1) as int) as model
from addressed
{%- endmacro -%}
