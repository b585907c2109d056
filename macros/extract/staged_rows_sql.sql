{#- Every row of the extract, typed and hashed, with the reason why it cannot be used (NULL for a good row). A
    row whose key cannot be read has no `_key_hash`. `compiled_sql` is the model's own SELECT. -#}
{%- macro staged_rows_sql(cfg, roles, compiled_sql) -%}
{%- set reasons = tidemark._reject_reasons(roles) -%}
{{ tidemark._typed_rows_sql(cfg, roles, compiled_sql) }},

judged_rows as (
    select
        *,
        case
            {%- for reason in reasons %}
            when {{ reason['condition'] }} then {{ reason['text'] }}
            {%- endfor %}
        end as _reject_reason
    from typed_rows
)

select
    {{ tidemark.column_list_expr(roles['columns'] | map(attribute='name')) }},
    {%- if cfg['stored_hashes'] %}
    _tidemark_key_hash as _key_hash,
    _tidemark_row_hash as _row_hash,
    {%- else %}
    {{ tidemark.row_hash_expr(roles['keys'], cfg['hash'],
        only_if=tidemark._key_known_expr(roles, reasons)) | indent(4) }} as _key_hash,
    {{ tidemark.row_hash_expr(roles['compared'], cfg['hash'], only_if='_reject_reason is null')
        | indent(4) }} as _row_hash,
    {%- endif %}
    _reject_reason,
    case when _reject_reason is not null then {{ tidemark._raw_payload_expr(roles) }} end as _raw_payload
from judged_rows
{%- endmacro -%}

{#- The values of an extract as they arrived and in their types: the beginning of a statement. -#}
{%- macro _typed_rows_sql(cfg, roles, compiled_sql) -%}
{%- set typed, arrived = [], [] -%}
{%- for column in roles['columns'] -%}
    {%- do typed.append(tidemark.cast_expr(column, cfg['options'], 'extract_rows') ~ ' as '
        ~ tidemark.quote_identifier(column['name'])) -%}
    {%- if column['source_name'] is not none -%}
        {%- do arrived.append('extract_rows.' ~ tidemark.quote_identifier(column['source_name']) ~ ' as '
            ~ tidemark._arrived_name(loop.index)) -%}
    {%- endif -%}
{%- endfor -%}
with extract_rows as (
    {{ compiled_sql | indent(4) }}
),

typed_rows as (
    select
        {{ (typed + arrived) | join(',\n        ') }}
        {%- for name in roles['supplied'] %},
        extract_rows.{{ name }} as _tidemark{{ name }}
        {%- endfor %}
    from extract_rows
)
{%- endmacro -%}

{#- How often a value of each column is the reason to reject a row, also where the row is rejected for another
    one, and one that arrived there. What could not be read has no columns. -#}
{%- macro failed_values_sql(cfg, roles, compiled_sql) -%}
{%- set reasons = tidemark._reject_reasons(roles) -%}
{%- set whole = reasons | rejectattr('column', 'defined') | map(attribute='condition') | list -%}
{{ tidemark._typed_rows_sql(cfg, roles, compiled_sql) }}

{{ tidemark.failures_by_reason_sql('typed_rows', whole, reasons | selectattr('column', 'defined') | list) }}
{%- endmacro -%}

{#- What a value is called as it arrived, beside the one of its type. -#}
{%- macro _arrived_name(place) -%}
    {{ return('_tidemark_arrived_' ~ place) }}
{%- endmacro -%}

{#- Why a row is rejected, first match wins: what hides the key comes first. -#}
{%- macro _reject_reasons(roles) -%}
    {%- set reasons = [] -%}
    {%- if '_unreadable' in roles['supplied'] -%}
        {%- do reasons.append({'condition': '_tidemark_unreadable is not null', 'text': "'unreadable'",
            'key_known': false}) -%}
    {%- endif -%}
    {%- if '_malformed' in roles['supplied'] -%}
        {%- do reasons.append({'condition': '_tidemark_malformed is not null', 'text': "'unreadable'",
            'key_known': false}) -%}
    {%- endif -%}
    {%- if '_reject_reason' in roles['supplied'] -%}
        {%- do reasons.append({
            'condition': '_tidemark_reject_reason is not null', 'text': '_tidemark_reject_reason',
            'key_known': false,
        }) -%}
    {%- endif -%}
    {%- for column in roles['keys'] + (roles['columns'] | rejectattr('key') | list) -%}
        {%- set arrived = tidemark._arrived_name(roles['columns'].index(column) + 1) -%}
        {%- set failed = tidemark.cast_failed_expr(column, arrived) -%}
        {%- if failed -%}
            {%- do reasons.append({
                'condition': failed, 'text': tidemark.string_literal('cast_failed: ' ~ column['name']),
                'key_known': not column['key'],
                'column': column['name'], 'value': "'***'" if column['sensitive']
                    else 'cast(' ~ arrived ~ ' as string)',
            }) -%}
        {%- endif -%}
        {%- if column['not_null'] -%}
            {%- do reasons.append({
                'condition': tidemark.quote_identifier(column['name']) ~ ' is null',
                'text': tidemark.string_literal(('null_key: ' if column['key'] else 'null_value: ')
                    ~ column['name']),
                'key_known': not column['key'], 'column': column['name'], 'value': 'cast(null as string)',
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not reasons -%}
        {%- do reasons.append({'condition': 'false', 'text': "''", 'key_known': true}) -%}
    {%- endif -%}
    {{ return(reasons) }}
{%- endmacro -%}

{#- True for a row whose key could be read; of one with malformed bytes that is where they are in other
    columns. -#}
{%- macro _key_known_expr(roles, reasons) -%}
    {%- set known = reasons | selectattr('key_known') | map(attribute='text') | list -%}
    {%- set terms = ['_reject_reason is null'] -%}
    {%- if known -%}{%- do terms.append('_reject_reason in (' ~ known | join(', ') ~ ')') -%}{%- endif -%}
    {%- if '_malformed' in roles['supplied'] -%}
        {%- set read = ['_tidemark_malformed is not null']
            + (['_tidemark_unreadable is null'] if '_unreadable' in roles['supplied'] else []) -%}
        {%- for key in roles['keys'] -%}{%- do read.append(tidemark.quote_identifier(key['name'])
            ~ ' is not null') -%}{%- endfor -%}
        {%- do terms.append('(' ~ read | join(' and ') ~ ')') -%}
    {%- endif -%}
    {{ return(terms | join(' or ')) }}
{%- endmacro -%}

{#- The row as it arrived, as JSON with sensitive values masked, or the line that could not be parsed. -#}
{%- macro _raw_payload_expr(roles) -%}
    {%- if '_raw_payload' in roles['supplied'] -%}{{ return('_tidemark_raw_payload') }}{%- endif -%}
    {%- set arrived = [] -%}
    {%- for column in roles['columns'] if column['source_name'] is not none -%}
        {%- do arrived.append({'name': column['name'],
            'arrived': tidemark._arrived_name(roles['columns'].index(column) + 1),
            'sensitive': column['sensitive']}) -%}
    {%- endfor -%}
    {%- set row = tidemark.masked_json_expr(arrived, 'judged_rows', 'arrived') -%}
    {%- set lines = [] -%}
    {%- for name in ['_unreadable', '_malformed'] if name in roles['supplied'] -%}
        {%- do lines.append('_tidemark' ~ name) -%}
    {%- endfor -%}
    {%- if not lines -%}{{ return(row) }}{%- endif -%}
    {%- set line = 'coalesce(' ~ lines | join(', ') ~ ')' if lines | length > 1 else lines[0] -%}
    {%- set shown = "'*** (the line is withheld: the entity has sensitive columns)'" if roles['sensitive']
        else line -%}
    {{ return('if(' ~ line ~ ' is not null, ' ~ shown ~ ', ' ~ row ~ ')') }}
{%- endmacro -%}
