{#- Atomic events of the commits in (from, to] as lines of the canonical TSV; `json_columns` false leaves out
    the three that hold JSON. -#}
{%- macro exported_events_sql(events, from_id, to_id, json_columns=true) -%}
{%- set fields = [] -%}
{%- for column in tidemark.enriched_columns()
    if json_columns or column['name'] not in ['contexts', 'unstruct_event', 'derived_contexts'] -%}
    {%- set text = tidemark.enriched_text_expr(column) -%}
    {%- do fields.append("coalesce("
        ~ ("translate(" ~ text ~ ", '\\t\\n\\r', '   ')" if column['type'] == 'string' else text)
        ~ ", '')") -%}
{%- endfor -%}
select
    concat_ws('\t',
        {{ fields | join(',\n        ') }}
    ) as value
from {{ events }}
where _commit_id > {{ from_id }} and _commit_id <= {{ to_id }}
{%- endmacro -%}

{#- Entities of the commits in (from, to] as JSON lines, with the parts of the schema that make the folders.
    -#}
{%- macro exported_entities_sql(entities, from_id, to_id) -%}
select
    concat(
        '{"schema":', to_json(`schema`),
        ',"data":', data,
        ',"hierarchy":', to_json(named_struct(
            'rootId', hierarchy.root_id,
            'rootTstamp', {{ tidemark.utc_text_expr('hierarchy.root_tstamp') }},
            'refRoot', hierarchy.ref_root,
            'refTree', hierarchy.ref_tree,
            'refParent', hierarchy.ref_parent
        )), '}'
    ) as value,
    `schema`.vendor as vendor,
    `schema`.name as name,
    `schema`.format as format,
    `schema`.version as version
from {{ entities }}
where _commit_id > {{ from_id }} and _commit_id <= {{ to_id }}
{%- endmacro -%}
