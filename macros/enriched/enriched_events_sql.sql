{#- Lines of enriched events as texts of the canonical columns, a row per line: TSV or JSON, which of the two
    the line says. `_line` is the line, `_unreadable` what is wrong with it as a whole; an empty field is
    NULL. -#}
{%- macro enriched_events_sql(arrived) -%}
with read_lines as (
    select
        _row,
        value,
        startswith(value, '{') and not contains(value, '\t') as _is_json,
        -- in an array before its hash, because Spark's parser passes over what follows a value
        if(startswith(value, '{') and not contains(value, '\t'),
            concat('[', value, ',', xxhash64(value), ']'), null) as _json
    from {{ arrived }}
),

parsed_lines as (
    select
        _row,
        value,
        _is_json,
        -- lone surrogates become question marks; names that are the same by that would fail below, and with
        -- it the load
        if(
            _json rlike '(?i)\\\\ud[89a-f]' and try_parse_json(cast(try_parse_json(_json) as string)) is null,
            null,
            try_parse_json(_json)
        ) as _parsed
    from read_lines
),

documents as (
    select
        _row,
        value,
        _is_json,
        case
            when not try_variant_get(_parsed, '$[1]', 'bigint') <=> xxhash64(value) then null
            when try_variant_get(_parsed, '$[0].schema', 'variant') is not null
                and try_variant_get(_parsed, '$[0].data', 'map<string, variant>') is not null
                then try_variant_get(_parsed, '$[0].data', 'variant')
            else try_variant_get(_parsed, '$[0]', 'variant')
        end as _document
    from parsed_lines
),

-- a lateral view, so that Spark does not put this expression in the place of each column that comes of it
split_lines as (
    select
        documents._row,
        documents.value,
        documents._is_json,
        split_line._fields,
        split_line._flattened
    from documents
    lateral view outer inline(array(named_struct('_fields', case
        when _is_json then if(_document is null, null, array(
            {{ tidemark.json_fields() | join(',\n            ') }}
        ))
        else split(value, '\t', -1)
    end, '_flattened', {{ tidemark.flattened_members_expr() | indent(4) }}))) split_line as _fields,
        _flattened
)

select
    _row,
    value as _line,
    case
        when not is_valid_utf8(value) then 'unreadable: no UTF-8'
        when _is_json and _fields is null then 'unreadable: no JSON object'
        when size(_fields) <> {{ tidemark.enriched_columns() | length }}
            then concat('unreadable: ', size(_fields),
                ' fields, expected {{ tidemark.enriched_columns() | length }}')
        else concat('unreadable: entities without their schema in ',
            nullif({{ tidemark.lost_members_expr() | indent(8) }}, ''))
    end as _unreadable,
    {%- for column in tidemark.enriched_columns() %}
    nullif(get(_fields, {{ loop.index0 }}), '') as {{ tidemark.quote_identifier(column['name']) }}
    {{- ',' if not loop.last }}
    {%- endfor %}
from split_lines
{%- endmacro -%}

{#- The texts of a JSON document's members as they would stand in the canonical TSV. -#}
{%- macro json_fields() -%}
    {%- set fields = [] -%}
    {%- set envelopes = ['contexts', 'unstruct_event', 'derived_contexts'] -%}
    {%- for column in tidemark.enriched_columns() -%}
        {%- set text = "try_variant_get(_document, '$." ~ column['name'] ~ "', 'string')" -%}
        {%- if column['name'] == 'refr_dvce_tstamp' -%}
            {#- the name that older analytics SDKs give it -#}
            {%- set text = 'coalesce(' ~ text
                ~ ", try_variant_get(_document, '$.refr_device_tstamp', 'string'))" -%}
        {%- endif -%}
        {%- if column['type'] == 'boolean' -%}
            {%- set text = "replace(replace(" ~ text ~ ", 'true', '1'), 'false', '0')" -%}
        {%- elif column['type'] == 'timestamp' -%}
            {%- set text = "regexp_replace(" ~ text ~ ", '^([0-9-]{10})T([0-9:.]+)Z?$', '$1 $2')" -%}
        {%- elif column['name'] in envelopes -%}
            {#- a column without entities may be an empty object -#}
            {%- set text = 'nullif(nullif(' ~ text ~ ", '{}'), '[]')" -%}
        {%- endif -%}
        {%- do fields.append(text) -%}
    {%- endfor -%}
    {{ return(fields) }}
{%- endmacro -%}

{#- The members of a JSON document that have entities by shortened names, such as contexts_com_acme_product_1,
    as analytics SDKs write them unless they are told not to: vendor, name and version of the schema cannot be
    told from those. -#}
{%- macro flattened_members_expr() -%}
if(_is_json, map_keys(map_filter(
    try_variant_get(_document, '$', 'map<string, variant>'),
    (name, part) -> name rlike '^(contexts|unstruct_event)_.'
        and try_cast(part as string) not in ('', '[]', '{}')
)), null)
{%- endmacro -%}

{#- Those of them, as a text, that are nowhere else in the document. -#}
{%- macro lost_members_expr() -%}
{%- set names = tidemark.enriched_columns() | map(attribute='name') | list -%}
array_join(array_sort(filter(_flattened, name -> if(
    startswith(name, 'contexts_'),
    coalesce(nullif(get(_fields, {{ names.index('contexts') }}), ''),
        get(_fields, {{ names.index('derived_contexts') }}), ''),
    coalesce(get(_fields, {{ names.index('unstruct_event') }}), '')
) = '')), ', ')
{%- endmacro -%}

{#- Enriched events that come as rows with the canonical columns, such as a Python model reads them: the same
    columns as enriched_events_sql(), each in its canonical type. What has `_original_id` was renamed before.
    An event without fingerprint gets one, as a line without does; without id or time of collection, or with
    what is no envelope of entities, it cannot be used. What has a reason and a line was judged by
    read_events(), which gives every event a fingerprint and knows its envelopes. -#}
{%- macro enriched_rows_sql(arrived, columns, left_out) -%}
{%- set types, problems = {}, [] -%}
{%- for column in columns -%}{%- do types.update({column['name']: column['type']}) -%}{%- endfor -%}
{%- set is_judged = '_reject_reason' in types and '_raw_payload' in types -%}
{%- set envelopes = [] if is_judged else ['contexts', 'unstruct_event', 'derived_contexts'] -%}
with typed_rows as (
    select
        _row,
        {{ tidemark.raw_payload_expr(columns) }} as _line,
        {{ '_reject_reason' if '_reject_reason' in types else 'cast(null as string)' }} as _rejected,
        {{ 'cast(_original_id as string)' if '_original_id' in types
            else 'cast(null as string)' }} as _original_id,
        {%- for column in tidemark.enriched_columns() %}
        {%- set name = tidemark.quote_identifier(column['name']) %}
        {%- set found = types.get(column['name']) %}
        {%- set value = 'cast(null as ' ~ column['type'] ~ ')' %}
        {%- if found %}{% set value = tidemark.cast_by_name_expr(name, found,
            column['type'])['value'] %}{% endif %}
        {%- if found and found not in [column['type'], 'void'] and column['type'] != 'string' %}
            {%- do problems.append('if(' ~ name ~ ' is not null and ' ~ value ~ " is null, 'cast_failed: "
                ~ column['name'] ~ "', null)") %}
        {%- endif %}
        {{ "nullif(" ~ value ~ ", '')" if column['name'] in ['event_id', 'event_fingerprint']
            else value }} as {{ name }},
        {%- endfor %}
        {{ "nullif(concat_ws(', ', " ~ problems | join(', ') ~ "), '')" if problems
            else 'cast(null as string)' }} as _failed
    from {{ arrived }}{{ ' as arrived' if '_raw_payload' not in types }}
),

opened_rows as (
    select
        *
        {%- for name in envelopes %},
        {{ tidemark.envelope_expr(name) }} as _{{ name }}
        {%- endfor %}
        {%- if not is_judged %},
        struct(
            {%- for column in tidemark.enriched_columns() if column['name'] not in left_out %}
            nullif({{ tidemark.enriched_text_expr(column) }},
                '') as {{ tidemark.quote_identifier(column['name']) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ) as _texts
        {%- endif %}
    from typed_rows
)

select
    _row,
    _line,
    coalesce(_rejected, nullif(concat_ws(', ',
        if(coalesce(_original_id, event_id) is null, 'null_value: event_id', null),
        if(collector_tstamp is null and coalesce(_failed, '') not like '%collector_tstamp%',
            'null_value: collector_tstamp', null),
        {%- if is_judged %}
        if(event_fingerprint is null, 'null_value: event_fingerprint', null),
        {%- endif %}
        {%- for name in envelopes %}
        {{ tidemark.enriched_problem_expr({'name': name}, '_' ~ name) }},
        {%- endfor %}
        _failed
    ), '')) as _unreadable,
    _original_id,
    {%- for column in tidemark.enriched_columns() %}
    {%- set name = tidemark.quote_identifier(column['name']) %}
    {{ tidemark.fingerprint_expr(left_out, '_texts') ~ ' as ' ~ name
        if column['name'] == 'event_fingerprint' and not is_judged else name }}
    {{- ',' if not loop.last }}
    {%- endfor %}
from opened_rows
{%- endmacro -%}

{#- What of an arrived row is kept should it be rejected: the line, or the row as JSON. -#}
{%- macro raw_payload_expr(columns) -%}
    {%- set names = columns | map(attribute='name') | list -%}
    {%- if 'event_id' not in names -%}{{ return('value') }}{%- endif -%}
    {{ return('_raw_payload' if '_raw_payload' in names else 'to_json(struct(arrived.* except (_row)))') }}
{%- endmacro -%}
