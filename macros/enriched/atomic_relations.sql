{#- The relations of a `materialized: atomic` model, by what they hold. The names are public:
    `atomic_events__entities`, … -#}
{%- macro atomic_relations(cfg) -%}
    {%- set relations = {'current': cfg['target']} -%}
    {%- for name in ['entities', 'manifest', 'rejects', 'landed'] -%}
        {%- do relations.update({name: tidemark.side_relation(cfg['target'], name)}) -%}
    {%- endfor -%}
    {%- if cfg['manifest'] -%}
        {%- set parts = cfg['manifest'].split('.') -%}
        {%- do relations.update({'manifest': api.Relation.create(
            database=cfg['target'].database,
            schema=parts[0] if parts | length == 2 else cfg['target'].schema,
            identifier=parts[-1],
        )}) -%}
    {%- endif -%}
    {{ return(relations) }}
{%- endmacro -%}

{%- macro atomic_columns() -%}
    {{return(tidemark.enriched_columns()
        + [{'name': '_commit_id', 'type': 'bigint', 'description': 'Commit that wrote the row'}]) }}
{%- endmacro -%}

{#- Columns of the table of all contexts and self-describing events. -#}
{%- macro entity_columns() -%}
    {{ return([
        {'name': 'schema', 'type': 'struct<vendor: string, name: string, format: string, version: string>',
            'description': 'Schema of the data'},
        {'name': 'data', 'type': 'string',
            'description': 'The data as JSON, members in the order of their names'},
        {'name': 'hierarchy',
            'type': 'struct<root_id: string, root_tstamp: timestamp, ref_root: string, ref_tree: '
                ~ 'array<string>, ref_parent: string>',
         'description': 'The event that it belongs to: id, collector_tstamp and path'},
        {'name': 'field', 'type': 'string',
            'description': 'Column of the event that it came in: contexts, unstruct_event or '
                ~ 'derived_contexts'},
        {'name': 'position', 'type': 'int', 'description': 'Place in that column, from 0'},
        {'name': '_commit_id', 'type': 'bigint', 'description': 'Commit that wrote the row'},
        {'name': 'vendor', 'type': 'string', 'description': 'Vendor of the schema'},
        {'name': 'name', 'type': 'string', 'description': 'Name of the schema'},
        {'name': 'model', 'type': 'int', 'description': 'First number of the version of the schema'},
    ]) }}
{%- endmacro -%}

{#- Columns of the manifest, which events were taken: a claim holds until `expires_at`. -#}
{%- macro manifest_columns() -%}
    {%- set columns -%}
event_id string Id that the event came with, in lower case
fingerprint string Its fingerprint, found or computed
etl_tstamp timestamp Etl time of its batch
expires_at timestamp Etl time up to which events find the claim
_commit_id bigint Commit that took the event; NULL where another tool did
    {%- endset -%}
    {{ return(tidemark.described_columns(columns)) }}
{%- endmacro -%}

{#- Columns of the lines that could not be used. -#}
{%- macro rejected_line_columns() -%}
    {{ return([
        {'name': '_reject_reason', 'type': 'string', 'description': 'Why the line cannot be used'},
        {'name': '_raw_payload', 'type': 'string', 'description': 'The line'},
        {'name': '_commit_id', 'type': 'bigint'},
    ]) }}
{%- endmacro -%}
