{#- Why an event is rejected, first match wins. Values of a before image count only where they find a row. -#}
{%- macro event_reject_reasons(cfg, roles, before) -%}
    {%- set reasons = [] -%}
    {%- for column in roles['keys'] + (roles['columns'] | rejectattr('key') | list)
        if not column.get('stays') and not roles.get('decoded') -%}
        {%- set name = tidemark.quote_identifier(column['name']) -%}
        {%- if roles['typed'] -%}
            {%- if column['arrived'] and column['source_type'] != column['type'] -%}
                {%- set source = tidemark.quote_identifier(column['source_name']) -%}
                {%- set failed = tidemark.cast_failed_expr(column, source)
                    if tidemark._nested_kind(column['type'])
                    else source ~ ' is not null and ' ~ tidemark._typed_value_expr(roles, column)
                        ~ ' is null' -%}
                {%- if failed -%}
                    {%- do reasons.append(tidemark._reason(failed, 'cast_failed', column['name'],
                        tidemark._shown_value_expr(column, source))) -%}
                {%- endif -%}
            {%- endif -%}
        {%- else -%}
            {%- set text = tidemark.quote_identifier('_tidemark_text_' ~ column['name']) -%}
            {%- set counts = "(_operation <> 'DELETE' or "
                ~ ('true' if column['key'] or not roles['keyed'] else 'false') ~ ')' -%}
            {%- set given = text ~ ' is not null and not '
                ~ tidemark.unavailable_expr(text, roles['unavailable_value']) if column['key']
                else tidemark.quote_identifier('_tidemark_given_' ~ column['name']) ~ ' is not null' -%}
            {%- set failed = counts ~ ' and ' ~ given ~ ' and ' ~ name ~ ' is null' -%}
            {%- if column['type'].startswith('timestamp') and 'auto' in column['encodings'].values() -%}
                {%- do reasons.append(tidemark._reason(failed ~ " and " ~ text ~ " rlike '^-?[0-9]+$'",
                    'ambiguous_unit', column['name'], tidemark._shown_value_expr(column, text))) -%}
            {%- endif -%}
            {%- if column['type'] == 'binary' and 'auto' in column['encodings'].values() -%}
                {%- do reasons.append(tidemark._reason(failed ~ ' and ' ~ tidemark._is_hex_expr(text),
                    'ambiguous_encoding', column['name'], tidemark._shown_value_expr(column, text))) -%}
            {%- endif -%}
            {%- do reasons.extend(tidemark._cast_reasons(column, failed, text, column['name'])) -%}
        {%- endif -%}
    {%- endfor -%}
    {%- if not roles['typed'] and not roles.get('decoded') -%}
        {%- for column in before -%}
            {%- set text = tidemark.quote_identifier(('_tidemark_before_' if column['key']
                else '_tidemark_was_') ~ column['name']) -%}
            {%- set was = '_before_' ~ column['name'] -%}
            {%- do reasons.extend(tidemark._cast_reasons(column,
                text ~ ' is not null and ' ~ tidemark.quote_identifier(was) ~ ' is null', text, was)) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- set kept = ' and not coalesce((' ~ tidemark.truncates_expr(cfg) ~ '), false)' -%}
    {%- set upserts = "_kind = 'row' and _operation <> 'DELETE' and not coalesce((" ~ cfg['apply_as_deletes']
        ~ '), false)' ~ kept -%}
    {%- for column in roles['keys'] if column['not_null'] -%}
        {%- do reasons.append(tidemark._reason("_kind = 'row' and "
            ~ tidemark._typed_value_expr(roles, column)
            ~ ' is null' ~ kept, 'null_key', column['name'])) -%}
    {%- endfor -%}
    {%- for column in roles['columns'] if column['not_null'] and not column['key'] -%}
        {%- do reasons.append(tidemark._reason(
            upserts ~ ' and ' ~ tidemark._typed_value_expr(roles, column) ~ ' is null and not ('
                ~ tidemark._unsupplied_expr(cfg, roles, column) ~ ')',
            'null_value', column['name']
        )) -%}
    {%- endfor -%}
    {%- for expression in cfg['sequence_by'] -%}
        {%- set made_up = [] -%}
        {%- for column in roles['source_columns']
            if column.get('orders') and tidemark._reads_column(expression, column['name']) -%}
            {%- do made_up.append(tidemark._is_made_up_expr(roles, column)) -%}
        {%- endfor -%}
        {%- if made_up -%}
            {%- do reasons.append(tidemark._reason('(' ~ made_up | join(' or ') ~ ') and (' ~ expression
                ~ ') is null', 'key_image_only', expression)) -%}
        {%- endif -%}
        {%- do reasons.append(tidemark._reason("not _is_snapshot and (" ~ expression ~ ') is null',
            'null_sequence', expression)) -%}
    {%- endfor -%}
    {%- if not cfg['sequence_by'] -%}
        {%- do reasons.append({'condition': '_sequence_num is null',
            'text': "'null_sequence: _sequence_num'"}) -%}
    {%- endif -%}
    {%- for reason in tidemark.rule_reasons(cfg) -%}
        {%- do reasons.append({'condition': upserts ~ ' and ' ~ reason['condition'],
            'text': reason['text']}) -%}
    {%- endfor -%}
    {%- if not roles['keyed'] and not roles['typed'] -%}
        {%- do reasons.append({
            'condition': "_kind = 'row' and _operation in ('UPDATE', 'DELETE') and "
                ~ ('not _has_before' if roles.get('decoded') else '_before is null'),
            'text': "'no_before_image'",
        }) -%}
    {%- endif -%}
    {{ return(reasons) }}
{%- endmacro -%}

{#- Why a text is no value: of a number without a sign that comes as a negative one its event does not show
    it. -#}
{%- macro _cast_reasons(column, failed, text, name) -%}
    {%- set value = tidemark._shown_value_expr(column, text) -%}
    {%- set reasons = [tidemark._reason(failed, 'cast_failed', name, value)] -%}
    {%- if 'unsigned' in column['encodings'].values() -%}
        {%- do reasons.insert(0,
            tidemark._reason(failed ~ ' and ' ~ text ~ " rlike '^-[1-9][0-9]*$'", 'unsigned_too_large', name,
            value)) -%}
    {%- endif -%}
    {{ return(reasons) }}
{%- endmacro -%}

{#- A reason, which tells the column (or the expression) that it is about. -#}
{%- macro _reason(condition, kind, name, value='cast(null as string)') -%}
    {{ return({'condition': condition, 'text': tidemark.string_literal(kind ~ ': ' ~ name), 'column': name,
        'value': value}) }}
{%- endmacro -%}

{%- macro _shown_value_expr(column, arrived) -%}
    {{ return("'***'" if column['sensitive'] else 'cast(' ~ arrived ~ ' as string)') }}
{%- endmacro -%}

{#- How often a value of each column is the reason to reject an event, also where it is rejected for another
    one: see failed_values_sql(). -#}
{%- macro failed_event_values_sql(cfg, roles, events, stretch) -%}
{%- set before = roles['keys'] if roles['keyed'] else roles['columns'] -%}
{{ tidemark._decoded_events_sql(roles, events, before, stretch) | trim | trim(',') }}

{{ tidemark.failures_by_reason_sql(
    'decoded', ["_kind = 'unreadable'"],
    tidemark.event_reject_reasons(cfg, roles, before) | selectattr('column', 'defined') | list
) }}
{%- endmacro -%}
