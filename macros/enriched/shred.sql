{#- The entities of one schema, for the body of a `materialized: shred` model, which types them. `events` is
    the model of atomic events that they came with. -#}
{%- macro shred(schema, events='atomic_events') -%}
    {%- set source = ref(events) if events is string else events -%}
    {%- if not execute -%}{{ return('select * from ' ~ source) }}{%- endif -%}
    {{ return(tidemark.shred_sql(tidemark.schema_pattern(schema), source)) }}
{%- endmacro -%}

{#- A query of the entities that fit a pattern, with a mark that tells the materialization what it reads. -#}
{%- macro shred_sql(pattern, source) -%}
{%- set version = pattern['version'].split('-') -%}
/* tidemark shred {{ source.schema }}.{{ source.identifier }} {{ pattern['uri'] | replace('*', '%') }} */
select
    `schema`,
    data,
    hierarchy,
    field,
    position,
    _commit_id
from {{ tidemark.side_relation(source, 'entities') }}
where
    vendor = {{ tidemark.string_literal(pattern['vendor']) }}
    and name = {{ tidemark.string_literal(pattern['name']) }}
    and model = {{ version[0] }}
    and `schema`.format = {{ tidemark.string_literal(pattern['format']) }}
    {%- for place in [1, 2] if version[place] != '*' %}
    and split_part(`schema`.version, '-', {{ place + 1 }}) = '{{ version[place] }}'
    {%- endfor %}
{%- endmacro -%}

{#- The parts of `iglu:vendor/name/format/model-revision-addition`, the last two numbers perhaps `*`. -#}
{%- macro schema_pattern(schema) -%}
    {%- set found = modules.re.fullmatch('iglu:([a-zA-Z0-9_.-]+)/([a-zA-Z0-9_-]+)/([a-zA-Z0-9_-]+)/([1-9][0-9]*-(?:[*]|0|[1-9][0-9]*)-(?:[*]|0|[1-9][0-9]*))', schema | string) -%}
    {%- if not found -%}
        {%- do tidemark.raise_error('usage',
            "shred('" ~ schema
                ~ "') is not a pattern of one schema. Write vendor/name/format/model-revision-addition, "
                ~ "such as 'iglu:com.acme/product/jsonschema/1-*-*'"
        ) -%}
    {%- endif -%}
    {{return({'uri': schema, 'vendor': found.group(1), 'name': found.group(2), 'format': found.group(3),
        'version': found.group(4)}) }}
{%- endmacro -%}

{#- What a compiled body reads: {source, uri}, or none without the mark of shred(). -#}
{%- macro shred_of(body) -%}
    {%- set found = modules.re.findall('/\\* tidemark shred ([^ ]+) ([^ ]+) \\*/', body) -%}
    {{ return({'source': found[0][0], 'uri': found[0][1] | replace('%', '*')} if found | length == 1
        else none) }}
{%- endmacro -%}
