{#-
    Every row of the extract, typed and hashed, with the reason why it cannot be used (NULL for a good row). A row
    whose key cannot be read has no `_key_hash`. `compiled_sql` is the model's own SELECT.
-#}
{%- macro staged_rows_sql(cfg, plan, compiled_sql) -%}
{%- set typed = [] -%}
{%- for column in plan['columns'] -%}
    {%- do typed.append(tidemark.cast_expr(column, cfg['options'], 'extract_rows') ~ ' as ' ~ tidemark.quote_identifier(column['name'])) -%}
{%- endfor -%}
{%- set reasons = tidemark._reject_reasons(cfg, plan) -%}
with extract_rows as (
    {{ compiled_sql | indent(4) }}
),

typed_rows as (
    select
        {{ typed | join(',\n        ') }},
        {%- if cfg['stored_hashes'] %}
        extract_rows._key_hash,
        extract_rows._row_hash,
        {%- endif %}
        case
            {%- for reason in reasons %}
            when {{ reason['condition'] }} then {{ reason['text'] }}
            {%- endfor %}
        end as _reject_reason,
        {{ tidemark._raw_payload_expr(cfg, plan) }} as _tidemark_arrived
    from extract_rows
)

select
    {{ tidemark.column_list_expr(plan['columns'] | map(attribute='name')) }},
    {%- if cfg['stored_hashes'] %}
    _key_hash,
    _row_hash,
    {%- else %}
    {{ tidemark.row_hash_expr(plan['keys'], cfg['hash'], only_if=tidemark._key_known_expr(reasons)) | indent(4) }} as _key_hash,
    {{ tidemark.row_hash_expr(plan['compared'], cfg['hash'], only_if='_reject_reason is null') | indent(4) }} as _row_hash,
    {%- endif %}
    _reject_reason,
    case when _reject_reason is not null then _tidemark_arrived end as _raw_payload
from typed_rows
{%- endmacro -%}


{#- Why a row is rejected, first match wins: what hides the key comes first. -#}
{%- macro _reject_reasons(cfg, plan) -%}
    {%- set reasons = [] -%}
    {%- if '_unreadable' in plan['supplied'] -%}
        {%- do reasons.append({'condition': 'extract_rows._unreadable is not null', 'text': "'unreadable'", 'key_known': false}) -%}
    {%- endif -%}
    {%- if '_reject_reason' in plan['supplied'] -%}
        {%- do reasons.append({
            'condition': 'extract_rows._reject_reason is not null', 'text': 'extract_rows._reject_reason', 'key_known': false,
        }) -%}
    {%- endif -%}
    {%- for column in plan['keys'] + (plan['columns'] | rejectattr('key') | list) -%}
        {%- set failed = tidemark.cast_failed_expr(column, cfg['options'], 'extract_rows') -%}
        {%- if failed -%}
            {%- do reasons.append({
                'condition': failed, 'text': tidemark.string_literal('cast_failed: ' ~ column['name']), 'key_known': not column['key'],
            }) -%}
        {%- endif -%}
        {%- if column['not_null'] -%}
            {%- do reasons.append({
                'condition': tidemark.cast_expr(column, cfg['options'], 'extract_rows') ~ ' is null',
                'text': tidemark.string_literal(('null_key: ' if column['key'] else 'null_value: ') ~ column['name']),
                'key_known': not column['key'],
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not reasons -%}
        {%- do reasons.append({'condition': 'false', 'text': "''", 'key_known': true}) -%}
    {%- endif -%}
    {{ return(reasons) }}
{%- endmacro -%}


{#- True for a row whose key could be read. -#}
{%- macro _key_known_expr(reasons) -%}
    {%- set known = reasons | selectattr('key_known') | map(attribute='text') | list -%}
    {{ return('_reject_reason is null' ~ (' or _reject_reason in (' ~ known | join(', ') ~ ')' if known else '')) }}
{%- endmacro -%}


{#- The row as it arrived, as JSON with sensitive values masked, or the line that could not be parsed. -#}
{%- macro _raw_payload_expr(cfg, plan) -%}
    {%- if '_raw_payload' in plan['supplied'] -%}{{ return('extract_rows._raw_payload') }}{%- endif -%}
    {%- set row = tidemark.masked_json_expr(plan['columns'] | rejectattr('source_name', 'none'), 'extract_rows', 'source_name') -%}
    {%- if '_unreadable' not in plan['supplied'] -%}{{ return(row) }}{%- endif -%}
    {%- set line = "'*** (the line is withheld: the entity has sensitive columns)'" if plan['sensitive'] else 'extract_rows._unreadable' -%}
    {{ return('if(extract_rows._unreadable is not null, ' ~ line ~ ', ' ~ row ~ ')') }}
{%- endmacro -%}
