{#- Write only the rows that changed. Clauses exclude each other, so that their order does not matter. -#}
{%- macro delta__merge_into_current(cfg, roles, relations, load) -%}
{%- set stored = roles['stored'] | map(attribute='name') | list -%}
{%- set names = tidemark.current_names(roles) -%}
{%- set kept = "slice._operation is not null" if cfg['soft_delete']
    else "slice._operation is not null and slice._operation <> 'D'" -%}
{%- set statement -%}
merge into {{ relations['current'] }} as current
using (
    {%- if cfg['tag_unchanged'] %}
    select
        {{ tidemark.column_list_expr(stored, 'latest') | indent(4) }},
        latest._key_hash,
        latest._row_hash,
        {{ tidemark.tag_expr(cfg, load) | indent(8) }} as _operation,
        latest._eff_start_date
    from (
        {{ tidemark.touched_rows_sql(roles, relations, load) | indent(8) }}
    ) as latest
    left join (
        {{ tidemark.tagged_keys_sql(cfg, relations, load) | indent(8) }}
    ) as tagged_keys on latest._key_hash = tagged_keys._key_hash
    {%- else %}
    {{ tidemark.touched_rows_sql(roles, relations, load) | indent(4) }}
    {%- endif %}
) as slice
    on current._key_hash <=> slice._key_hash
    {%- if load.get('key_list') %}
    {#- Says the same again, in words by which Delta leaves out files: of a list in `in` it looks at the least
        and the greatest only. #}
    and (current._key_hash = {{ load['key_list'] | join(' or current._key_hash = ') }})
    {%- endif %}
when matched and {{ kept }} then update set
    {%- for name in names %}
    {{ tidemark.quote_identifier(name) }} = slice.{{ tidemark.quote_identifier(name) }} {{- ','
        if not loop.last }}
    {%- endfor %}
when matched and not ({{ kept }}) then delete
when not matched and {{ kept }} then insert (
    {{ tidemark.column_list_expr(names) }}
) values (
    {{ tidemark.column_list_expr(names, 'slice') }}
)
{%- endset -%}
{{ return([statement]) }}
{%- endmacro -%}
