{#- All rows of current after a commit: `rows.touched` in place of what was there. With tag_unchanged every
    row carries its operation for the last business date: that of its change, else N, or X if that date's
    extract did not supply it. `rows.stored` is what was there, or none to build current from the log alone
    (then `rows.touched` holds every key). -#}
{%- macro current_rows_sql(cfg, roles, relations, rows, load) -%}
{%- set stored = roles['stored'] | map(attribute='name') | list -%}
{%- set names = tidemark.current_names(roles) -%}
with touched as (
    {{ rows['touched'] | indent(4) }}
),

latest as (
    select
        {{ tidemark.column_list_expr(names) | indent(4) }}
    from touched
    {%- if rows['stored'] is not none %}
    union all
    select {{- ' /*+ broadcast(touched) */' if load.get('few_touched') }}
        {{ tidemark.column_list_expr(names, 'stored_rows') | indent(4) }}
    from {{ rows['stored'] }} as stored_rows
    left anti join touched on stored_rows._key_hash = touched._key_hash
    {%- endif %}
)

select
    {{ tidemark.column_list_expr(stored, 'latest') }},
    latest._key_hash,
    latest._row_hash,
    {{ tidemark.tag_expr(cfg, load) | indent(4) }} as _operation,
    latest._eff_start_date
    {%- for name in names[stored | length + 4:] %},
    latest.{{ name }}
    {%- endfor %}
from latest
{%- if cfg['tag_unchanged'] %}
left join (
    {{ tidemark.tagged_keys_sql(cfg, relations, load) | indent(4) }}
) as tagged_keys on latest._key_hash = tagged_keys._key_hash
{%- endif %}
where latest._operation is not null {{- '' if cfg['soft_delete'] else " and latest._operation <> 'D'" }}
{%- endmacro -%}

{#- The keys whose unchanged rows do not get the usual tag: those a delta or a scoped extract supplied (N,
    others X), those a full extract had to reject (X, others N). -#}
{%- macro tagged_keys_sql(cfg, relations, load) -%}
select distinct _key_hash
from {{ relations['supplied' if tidemark.tags_as_delta(cfg, load) else 'rejects'] }}
where
    _key_hash is not null
    and _business_date = date'{{ load['last_date'] }}'
    and _commit_id = {{ load['last_date_commit_id'] }}
{%- endmacro -%}

{#- `_operation` as current shows it. -#}
{%- macro tag_expr(cfg, load) -%}
    {%- if not cfg['tag_unchanged'] -%}{{ return('latest._operation') }}{%- endif -%}
    {%- set usual, other = ('X', 'N') if tidemark.tags_as_delta(cfg, load) else ('N', 'X') -%}
    {{ return(
        "case\n    when coalesce(latest._operation, 'D') = 'D' or latest._eff_start_date = date'"
            ~ load['last_date']
        ~ "' then latest._operation"
        ~ "\n    when tagged_keys._key_hash is null then '" ~ usual ~ "'\n    else '" ~ other ~ "'\nend"
    ) }}
{%- endmacro -%}
