{#- What a date that is loaded late or again does to the log: rows to append, and rows to mark as superseded
    (those with `_supersedes`, the commit that wrote them). `found.changed` holds the rows that the date
    should have, `found.logged` those that the log has of their keys; what it saw is taken away from the next
    date on which the key was observed, whose row is derived again, so that the log reads as if all dates had
    come in order.

              before          business_date           next observation of the key
        ──────── a ─────────────── b ────────────────────────── c ─────────────
                     diff(a, b) is `changed`      diff(b, c) takes the place of diff(a, c)

    A scoped extract between b and c that did not supply the key deleted it, if it had the scope of the row as
    it was then. So what such extracts logged of the row that was there is taken away, and the first one that
    had the scope of b is a D, behind which c follows. -#}
{%- macro revised_rows_sql(cfg, roles, relations, found, load) -%}
{%- set names = roles['columns'] | map(attribute='name') | list -%}
{%- set fields = tidemark.column_list_expr(names + ['_row_hash']) | replace('\n    ', ' ') -%}
{%- set this_date = "date'" ~ load['business_date'] ~ "'" -%}
{%- set scoped = tidemark._later_of(cfg, load, ['scoped']) -%}
{%- set scope = tidemark.scope_names(cfg, roles) -%}
with entries as (
    {{ tidemark._entries_sql(cfg, relations, found, fields, load) | indent(4) }}
),

dated_entries as (
    select
        *,
        {{ tidemark._next_observation_expr(cfg, load) }} as _next_date
    from entries
),

lives as (
    select
        _key_hash,
        max(_next_date) as _next_date,
        max_by(_entry, _business_date) filter (where _kind = 'wanted') as _wanted,
        max_by(_entry, _business_date)
            filter (where _kind = 'logged' and _business_date < {{ this_date }}) as _before,
        max_by(_entry, _business_date)
            filter (where _kind = 'logged' and _business_date = {{ this_date }}) as _here,
        max_by(_entry, _business_date)
            filter (where _kind = 'logged' and _business_date = _next_date) as _logged_next
        {{- tidemark._logged_between_expr(this_date) | indent(8) if scoped }}
    from dated_entries
    group by _key_hash
),

images as (
    select
        *,
        {{ tidemark._image_expr(['_wanted', '_before']) }} as _after,
        {{ tidemark._image_expr(['_logged_next', '_logged_gone', '_here', '_before'] if scoped
            else ['_logged_next', '_here', '_before']) }} as _next
    from lives
    where _wanted is not null or _here is not null
),
{{- tidemark._gone_rows_sql(relations, scope, scoped) if scoped }}

transitions as (
    select
        *,
        case
            when _next_date is not null and not (_after._row_hash <=> _next._row_hash) then named_struct(
                'commit', cast(null as bigint),
                'operation', case when _after is null then 'I' when _next is null then 'D' else 'U' end,
                'changed', case
                    when _after is not null and _next is not null
                        then {{ tidemark.changed_columns_expr(roles['compared'], '_after', '_next')
                            | indent(20)
                             if cfg['changed_columns'] else 'cast(null as array<string>)' }}
                end,
                'image', if(_next is null, _after, _next)
            )
        end as _wanted_next
    from {{ 'gone_rows' if scoped else 'images' }}
),

differences as (
    select
        *,
        not ({{ tidemark._same_entry_expr('_wanted', '_here') }}) as _differs_here,
        not ({{ tidemark._same_entry_expr('_wanted_next', '_logged_next') }}) as _differs_next
        {%- if scoped %},
        not (_gone_date <=> _logged_gone_date and {{ tidemark._same_entry_expr('_wanted_gone',
            '_logged_gone') }}) as _differs_gone
        {%- endif %}
    from transitions
),

revised as (
    select
        _key_hash,
        inline(array(
            named_struct('_date', {{ this_date }}, '_entry', if(_differs_here, _wanted, null), '_supersedes',
                cast(null as bigint)),
            named_struct('_date', {{ this_date }}, '_entry', null, '_supersedes',
                if(_differs_here, _here.commit, null)),
            named_struct('_date', _next_date, '_entry', if(_differs_next, _wanted_next, null), '_supersedes',
                cast(null as bigint)),
            named_struct('_date', _next_date, '_entry', null, '_supersedes',
                if(_differs_next, _logged_next.commit, null))
            {%- if scoped %},
            named_struct('_date', _gone_date, '_entry', if(_differs_gone, _wanted_gone, null), '_supersedes',
                cast(null as bigint)),
            named_struct('_date', _logged_gone_date, '_entry', null, '_supersedes',
                if(_differs_gone, _logged_gone.commit, null))
            {%- endif %}
        ))
    from differences
)

select
    {%- for name in names %}
    _entry.image.{{ tidemark.quote_identifier(name) }} as {{ tidemark.quote_identifier(name) }},
    {%- endfor %}
    _key_hash,
    _entry.image._row_hash as _row_hash,
    _entry.operation as _operation,
    _date as _business_date,
    _date as _eff_start_date,
    _entry.changed as _changed_columns,
    _supersedes
from revised
where _entry is not null or _supersedes is not null
{%- endmacro -%}

{#- What the date should have, what the log has, and where a key was observed later without a row of it. -#}
{%- macro _entries_sql(cfg, relations, found, fields, load) -%}
{%- for kind, rows, commit in [
    ('wanted', found['changed'], 'cast(null as bigint)'), ('logged', found['logged'], '_commit_id')] -%}
select
    '{{ kind }}' as _kind,
    _key_hash,
    _business_date,
    named_struct(
        'commit', {{ commit }}, 'operation', _operation, 'changed', _changed_columns, 'image',
            struct({{ fields }})
    ) as _entry
from {{ rows }} {{- '\nunion all\n' if not loop.last }}
{%- endfor -%}
{%- for relation, loads in tidemark._later_by_extract(cfg, relations, load) if loads %}
union all
select
    'observed' as _kind,
    _key_hash,
    _business_date,
    null as _entry
from {{ relation }}
where _key_hash is not null and {{ tidemark._loads_expr(loads) }}
{%- endfor -%}
{%- endmacro -%}

{#- The state after the first of these entries that is there: its row, NULL after a D. -#}
{%- macro _image_expr(entries) -%}
    {%- set branches = [] -%}
    {%- for entry in entries -%}
        {%- do branches.append('when ' ~ entry ~ ".operation = 'D' then null when " ~ entry
            ~ ' is not null then ' ~ entry ~ '.image') -%}
    {%- endfor -%}
    {{ return('case ' ~ branches | join(' ') ~ ' end') }}
{%- endmacro -%}

{%- macro _same_entry_expr(left, right) -%}
    {%- set terms = [] -%}
    {%- for field in ['operation', 'image._row_hash', 'changed'] -%}
        {%- do terms.append(left ~ '.' ~ field ~ ' <=> ' ~ right ~ '.' ~ field) -%}
    {%- endfor -%}
    {{ return(terms | join(' and ')) }}
{%- endmacro -%}

{#- What the log has of a key between this date and the next one on which the key was supplied: a D at most,
    of a scoped extract. -#}
{%- macro _logged_between_expr(this_date) -%}
{%- set between = "_kind = 'logged' and _business_date > " ~ this_date
    ~ ' and (_next_date is null or _business_date < _next_date)' -%}
,
max_by(_entry, _business_date) filter (where {{ between }}) as _logged_gone,
max(_business_date) filter (where {{ between }}) as _logged_gone_date
{%- endmacro -%}

{#- The rows of `images` with `_gone_date`, on which a scoped extract deleted them, and that D; `_after` is
    what the next supply follows. A scoped extract had the scopes that the rows have that it supplied, and
    deleted no key that it rejected. -#}
{%- macro _gone_rows_sql(relations, scope, scoped) %}

later_scopes as (
    select distinct
        _scope_date,
        {%- for name in scope %}
        _scope_row.{{ tidemark.quote_identifier(name) }} as {{ tidemark.quote_identifier(name) }} {{- ','
            if not loop.last }}
        {%- endfor %}
    from (
        select
            supplied._business_date as _scope_date,
            max_by(struct({{ tidemark.column_list_expr(scope, 'log') | replace('\n    ', ' ') }}),
                log._business_date) as _scope_row
        from (
            select * from {{ relations['supplied'] }}
            where {{ tidemark._loads_expr(scoped) }}
        ) as supplied
        inner join {{ relations['log'] }} as log on supplied._key_hash = log._key_hash
        where log._business_date <= supplied._business_date and {{ tidemark.in_force_expr(alias='log') }}
        group by supplied._business_date, supplied._key_hash
    )
),

rejected_keys as (
    select distinct
        _key_hash,
        _business_date
    from {{ relations['rejects'] }}
    where _key_hash is not null and {{ tidemark._loads_expr(scoped) }}
),

gone_dates as (
    select
        images._key_hash,
        min(later_scopes._scope_date) as _gone_date
    from images
    inner join later_scopes on {{ tidemark.same_scope_expr(scope, 'images._after', 'later_scopes') }}
    left outer join rejected_keys
        on images._key_hash = rejected_keys._key_hash
            and later_scopes._scope_date = rejected_keys._business_date
    where
        images._after is not null
        and rejected_keys._key_hash is null
        and (images._next_date is null or later_scopes._scope_date < images._next_date)
    group by images._key_hash
),

gone_rows as (
    select
        images.* except (_after),
        gone_dates._gone_date,
        case
            when gone_dates._gone_date is not null then named_struct(
                'commit', cast(null as bigint), 'operation', 'D', 'changed', cast(null as array<string>),
                    'image', images._after
            )
        end as _wanted_gone,
        if(gone_dates._gone_date is null, images._after, null) as _after
    from images
    left outer join gone_dates on images._key_hash = gone_dates._key_hash
),
{%- endmacro -%}

{#- The later loads whose extracts were of these kinds. -#}
{%- macro _later_of(cfg, load, kinds) -%}
    {%- set found = [] -%}
    {%- for later in load['later_loads'] if (later.get('extract') or cfg['extract']) in kinds -%}
        {%- do found.append(later) -%}
    {%- endfor -%}
    {{ return(found) }}
{%- endmacro -%}

{#- The later loads that were deltas or scoped, with the table of what they observed, and the full ones, with
    that of what those did not. -#}
{%- macro _later_by_extract(cfg, relations, load) -%}
    {{ return([
        (relations['supplied'], tidemark._later_of(cfg, load, ['delta', 'scoped'])),
        (relations['rejects'], tidemark._later_of(cfg, load, ['full'])),
    ]) }}
{%- endmacro -%}

{#- The first date after this one on which a key was observed, whatever its row was. A full extract observes
    every key but those it had to reject; a delta and a scoped extract observe the keys that they supplied.
    -#}
{%- macro _next_observation_expr(cfg, load) -%}
    {%- if not load['later_loads'] -%}{{ return('cast(null as date)') }}{%- endif -%}
    {%- set observed = "if(_kind = 'observed', _business_date, null)" -%}
    {%- set dates = {'delta': [], 'full': []} -%}
    {%- for kind, kinds in [('delta', ['delta', 'scoped']), ('full', ['full'])] -%}
        {%- for later in tidemark._later_of(cfg, load, kinds) -%}{%- do dates[kind].append("date'"
            ~ later['business_date'] ~ "'") -%}{%- endfor -%}
    {%- endfor -%}
    {%- if dates['delta'] and dates['full'] -%}
        {%- set observed = "if(_kind = 'observed' and _business_date in (" ~ dates['delta'] | join(', ')
            ~ '), _business_date, null)' -%}
    {%- endif -%}
    {%- set by_delta = 'min(' ~ observed ~ ') over (partition by _key_hash)' -%}
    {%- if not dates['full'] -%}{{ return(by_delta) }}{%- endif -%}
    {%- set by_full = "array_min(array_except(array(" ~ dates['full'] | join(', ')
        ~ "), collect_set(if(_kind = 'observed', _business_date, null)) over (partition by _key_hash)))" -%}
    {{ return('least(' ~ by_delta ~ ', ' ~ by_full ~ ')' if dates['delta'] else by_full) }}
{%- endmacro -%}

{#- The log rows in force of every key that a correction of `business_date` touches, with sensitive columns.
    -#}
{%- macro logged_rows_sql(roles, relations, changed, business_date) -%}
with affected_keys as (
    select _key_hash from {{ changed }}
    union
    select _key_hash from {{ relations['log'] }}
    where _business_date = date'{{ business_date }}' and {{ tidemark.in_force_expr() }}
)

select log.*
from (
    {{ tidemark.log_with_sensitive_sql(roles, relations) | indent(4) }}
) as log
left semi join affected_keys on log._key_hash = affected_keys._key_hash
where {{ tidemark.in_force_expr(alias='log') }}
{%- endmacro -%}

{#- Rows that the last load of each of these dates wrote. -#}
{%- macro _loads_expr(loads) -%}
    {%- set pairs = [] -%}
    {%- for load in loads -%}{%- do pairs.append("(date'" ~ load['business_date'] ~ "', " ~ load['commit_id']
        ~ ')') -%}{%- endfor -%}
    {{ return('(_business_date, _commit_id) in (' ~ pairs | join(', ') ~ ')' if pairs else 'false') }}
{%- endmacro -%}
