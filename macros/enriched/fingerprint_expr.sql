{#- The fingerprint of an event: its own, or else a hash of its columns' texts but those left out, which are
    fields of `texts` if that is given. -#}
{%- macro fingerprint_expr(left_out, texts=none) -%}
    {%- set hashed = [] -%}
    {%- for column in tidemark.enriched_columns() if column['name'] not in left_out -%}
        {%- do hashed.append({'name': column['name'], 'type': 'string'}) -%}
    {%- endfor -%}
    {{ return('coalesce(event_fingerprint, ' ~ tidemark.row_hash_expr(hashed, 'md5', texts) ~ ')') }}
{%- endmacro -%}
