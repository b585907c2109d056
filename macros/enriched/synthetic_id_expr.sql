{#- The id of a synthetic duplicate: the UUID, version 5, of `<original id>:<fingerprint>` in a namespace of
    our own. -#}
{%- macro synthetic_id_expr(event_id, fingerprint) -%}
    {#- tidemark.shred.enriched.SYNTHETIC_NAMESPACE; ids are stored, so it never changes -#}
    {%- set digest = "sha1(concat(unhex('B3D1F6A05C0E5D5A9A576F8F1C2E7D10'), cast(concat(" ~ event_id
        ~ ", ':', " ~ fingerprint ~ ') as binary)))' -%}
    {%- set variant = "substr('89ab', 1 + pmod(conv(substr(" ~ digest ~ ', 17, 1), 16, 10), 4), 1)' -%}
    {{ return(
        "concat_ws('-', substr(" ~ digest ~ ', 1, 8), substr(' ~ digest ~ ", 9, 4), concat('5', substr("
            ~ digest ~ ', 14, 3)), concat('
        ~ variant ~ ', substr(' ~ digest ~ ', 18, 3)), substr(' ~ digest ~ ', 21, 12))'
    ) }}
{%- endmacro -%}
