{#- What a run found, in one pass over the extract: rows labelled I, U, D or R (rejected: what is stored stays
    as it is), for I and U the values that arrived, for D the last known ones. One of exact duplicates is
    kept, and where their ignored columns differ the greatest values. Keys that came unchanged (N) are left
    out, but for those that came more than once and, of a delta or a scoped extract, for all, without their
    values.

    A full extract is joined with everything that exists, so that a key that is gone is a D; a delta only with
    the keys that it supplies. In a scoped extract, a key that is gone is a D where the values of the scope's
    columns that it had came with some row that can be used; else it was not supplied. `_tidemark_copies`
    counts the rows of a key, `_tidemark_existing` is 1 in the first row of a key that was there before.
    Without `existing` every key is new. Without `business_date` the rows lack their dates, and every N is
    among them, to be counted: see staged_changes_sql(). -#}
{%- macro classified_rows_sql(cfg, roles, staged, existing, business_date) -%}
{%- set copies = 'partition by staged._key_hash order by '
    ~ tidemark._tie_break(roles['ignored']
    + (roles['compared'] | selectattr('compare_as', 'defined') | selectattr('compare_as') | list)) -%}
{%- set is_scoped = existing and cfg['extract'] == 'scoped' -%}
{%- set scope = tidemark.scope_names(cfg, roles) -%}
{%- set whole = copies ~ ' rows between unbounded preceding and unbounded following' -%}
with numbered_rows as (
    select
        staged.*,
        row_number() over ({{ copies }}) as _tidemark_copy,
        count(*) over ({{ whole }}) as _tidemark_copies,
        staged._key_hash is null
        or max(staged._reject_reason is not null) over ({{ whole }})
        or max(staged._row_hash) over ({{ whole }}) <> min(staged._row_hash)
            over ({{ whole }}) as _tidemark_rejected
    from {{ staged }} as staged
),

arrived_rows as (
    select * from numbered_rows
    where _tidemark_copy = 1 or _tidemark_rejected
),

{%- if existing and tidemark.is_partial(cfg['extract']) %}

{{ tidemark._existing_in_reach_sql(cfg, staged, existing, scope) }},
{%- endif %}

labelled_rows as (
    select
        {%- for column in roles['columns'] %}
        {%- set name = tidemark.quote_identifier(column['name']) %}
        after.{{ name }} as {{ name }},
        {%- if existing %}
        before.{{ name }} as {{ tidemark.before_name(column) }},
        {%- endif %}
        {%- endfor %}
        after._reject_reason,
        after._raw_payload,
        coalesce(after._tidemark_copies, 0) as _tidemark_copies,
        {%- if is_scoped %}
        if(coalesce(after._tidemark_copy, 1) = 1, coalesce(before._tidemark_in_scope, 0),
            0) as _tidemark_in_scope,
        {%- endif %}
        {{ tidemark._labels_expr(cfg, roles, existing) | indent(8) }}
    from arrived_rows as after
    {%- if existing and cfg['extract'] == 'delta' %}
    left outer join existing_rows as before on after._key_hash = before._key_hash
    {%- elif existing %}
    full outer join {{ 'existing_rows' if is_scoped else existing }} as before
        on after._key_hash = before._key_hash
    {%- endif %}
    {%- if is_scoped %}
    where after._tidemark_copies is not null or before._tidemark_in_scope = 1
    {%- endif %}
)

select
    {%- for column in roles['columns'] %}
    {%- set name = tidemark.quote_identifier(column['name']) %}
    {%- if existing %}
    case when _operation in ('I', 'U') then {{ name }}
        when _operation = 'D' then {{ tidemark.before_name(column) }} end as {{ name }},
    {%- else %}
    if(_operation = 'I', {{ name }}, null) as {{ name }},
    {%- endif %}
    {%- endfor %}
    _key_hash,
    {{ "if(_operation = 'D', _tidemark_row_hash_before, _row_hash)" if existing
        else '_row_hash' }} as _row_hash,
    _operation,
    {%- if business_date %}
    date'{{ business_date }}' as _business_date,
    date'{{ business_date }}' as _eff_start_date,
    {%- endif %}
    {{ "if(_operation = 'U', _changed_columns, null)" if existing
        else '_changed_columns' }} as _changed_columns,
    case when _operation = 'R' then coalesce(_reject_reason, 'duplicate_key') end as _reject_reason,
    case
        when _operation = 'R' then coalesce(_raw_payload, {{ tidemark.masked_json_expr(roles['columns'],
            'labelled_rows') }})
    end as _raw_payload,
    _tidemark_copies,
    {%- if is_scoped %}
    _tidemark_in_scope,
    {%- endif %}
    _tidemark_existing
from labelled_rows
{%- if existing and cfg['extract'] == 'full' and business_date %}
where _operation <> 'N' or _tidemark_copies > 1
{%- endif %}
{%- endmacro -%}

{#- What stood before, as far as the extract tells of it. -#}
{%- macro _existing_in_reach_sql(cfg, staged, existing, scope) -%}
{%- if cfg['extract'] == 'delta' -%}
existing_rows as (
    select existing.*
    from {{ existing }} as existing
    left semi join {{ staged }} as staged on existing._key_hash = staged._key_hash
)
{%- else -%}
scopes as (
    select distinct
        {{ tidemark.column_list_expr(scope) | indent(4) }},
        1 as _tidemark_in_scope
    from arrived_rows
    where not _tidemark_rejected
),

existing_rows as (
    select
        existing.*,
        coalesce(scopes._tidemark_in_scope, 0) as _tidemark_in_scope
    from {{ existing }} as existing
    left outer join scopes on {{ tidemark.same_scope_expr(scope, 'existing', 'scopes') }}
)
{%- endif -%}
{%- endmacro -%}

{#- What a row is labelled with: its hashes, its operation, and what an update changed. -#}
{%- macro _labels_expr(cfg, roles, existing) -%}
{%- if existing -%}
coalesce(after._key_hash, before._key_hash) as _key_hash,
after._row_hash as _row_hash,
before._row_hash as _tidemark_row_hash_before,
if(before._key_hash is not null and coalesce(after._tidemark_copy, 1) = 1, 1, 0) as _tidemark_existing,
case
    when after._tidemark_rejected then 'R'
    when before._key_hash is null then 'I'
    when after._key_hash is null then 'D'
    when after._row_hash = before._row_hash then 'N'
    else 'U'
end as _operation,
{%- if cfg['changed_columns'] %}
case
    when after._row_hash <> before._row_hash
        then {{ tidemark.changed_columns_expr(roles['compared'], 'before', 'after') | indent(4) }}
end as _changed_columns
{%- else %}
cast(null as array<string>) as _changed_columns
{%- endif %}
{%- else -%}
after._key_hash,
after._row_hash,
0 as _tidemark_existing,
if(after._tidemark_rejected, 'R', 'I') as _operation,
cast(null as array<string>) as _changed_columns
{%- endif -%}
{%- endmacro -%}

{#- What the value that a column had before is called, beside the one that arrived. -#}
{%- macro before_name(column) -%}
    {{ return(tidemark.quote_identifier('_tidemark_before_' ~ column['name'])) }}
{%- endmacro -%}

{#- The names of the columns that say which part of all rows an extract has. -#}
{%- macro scope_names(cfg, roles) -%}
    {%- set lower = (cfg.get('scope') or []) | map('lower') | list -%}
    {%- set names = [] -%}
    {%- for column in roles['columns'] if column['name'] | lower in lower -%}
        {%- do names.append(column['name']) -%}
    {%- endfor -%}
    {{ return(names) }}
{%- endmacro -%}

{#- Whether two rows are of one scope. NULL is a value like others. -#}
{%- macro same_scope_expr(names, left, right) -%}
    {%- set terms = [] -%}
    {%- for name in names -%}
        {%- set column = '.' ~ tidemark.quote_identifier(name) -%}
        {%- do terms.append(left ~ column ~ ' <=> ' ~ right ~ column) -%}
    {%- endfor -%}
    {{ return(terms | join(' and ')) }}
{%- endmacro -%}

{%- macro _tie_break(ignored) -%}
    {%- set terms = [] -%}
    {%- for column in ignored -%}
        {%- set value = tidemark.canonical_text_expr('staged.' ~ tidemark.quote_identifier(column['name']),
            column['type']) -%}
        {%- do terms.append(value ~ ' desc nulls last') -%}
    {%- endfor -%}
    {{ return(terms | join(', ') if terms else 'staged._key_hash desc nulls last') }}
{%- endmacro -%}

{#- The rows that a business date adds to the log, without their commit. -#}
{%- macro changed_rows_sql(classified) -%}
select * from {{ classified }} where _operation in ('I', 'U', 'D')
{%- endmacro -%}

{#- The rows of the log that a run writes as it finds them, from all that it labelled. What is other on each
    date is put to them here, apart from the labelling: of a query without literals that change, Spark uses
    its code again. -#}
{%- macro staged_changes_sql(roles, labelled, load) -%}
select
    {{ tidemark.column_list_expr(roles['stored'] | map(attribute='name') | list
        + ['_key_hash', '_row_hash', '_operation', '_changed_columns']) }},
    date'{{ load['business_date'] }}' as _business_date,
    date'{{ load['business_date'] }}' as _eff_start_date,
    {{ load['commit_id'] }} as _commit_id
from {{ labelled }}
where _operation in ('I', 'U', 'D')
{%- endmacro -%}

{#- The rows that a run cannot use, with reason and raw payload: those marked in staging and all rows of a key
    that came with different payloads. -#}
{%- macro rejected_rows_sql(classified) -%}
select _reject_reason, _key_hash, _raw_payload from {{ classified }} where _operation = 'R'
{%- endmacro -%}

{#- The keys that a delta or a scoped extract supplied and that could be used. -#}
{%- macro supplied_keys_sql(classified) -%}
select _key_hash from {{ classified }} where _operation in ('I', 'U', 'N')
{%- endmacro -%}
