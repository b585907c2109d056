{#- The intervals of an extract whose rows tell in a column since when they hold. A version begins at that
    column's value where it is later than the begin of the version before, else, and where a key was deleted,
    at the business date:

        date             1         2         3         4                 _valid_from  _valid_to
        updated_at       1 09:00   2 08:00   2 08:00             a       1 09:00      2 08:00
        change           I(a)      U(b)      U(c)      D         b       2 08:00      3 00:00
                                                                 c       3 00:00      4 00:00

    No two versions of a key overlap. One that was taken back before it began, as a value beyond the next
    business date can tell, holds at no time and is left out. Each begin hangs on the one before, so they are
    told one after the other. -#}
{%- macro effective_intervals_sql(column, log_relation, in_force, options) -%}
select
    * except (_operation, _business_date, _eff_start_date, _changed_columns, _superseded_by, _valid_from,
        _valid_to),
    {{ tidemark.interval_columns_expr(options) }}
from (
    select
        *,
        lead(_valid_from) over (partition by {{ options['per'] }}
            order by _business_date asc nulls last) as _valid_to
    from (
        select
            *,
            aggregate(
                collect_list(struct(
                    cast(_business_date as timestamp) as observed,
                    case when _operation <> 'D'
                        then cast({{ tidemark.quote_identifier(column) }} as timestamp) end as told
                )) over (
                    partition by {{ options['per'] }}
                    order by _business_date asc nulls last
                    rows between unbounded preceding and current row
                ),
                cast(null as timestamp),
                (begun, version) -> case
                    when begun is null then coalesce(version.told, version.observed)
                    when version.told > begun then version.told
                    else greatest(begun, version.observed)
                end
            ) as _valid_from
        {%- if options['is_bitemporal'] %}
        from {{ tidemark.known_log_sql(log_relation, tidemark.sensitive_key({})) | indent(8) }}
        {%- else %}
        from {{ log_relation }}
        where {{ in_force }}
        {%- endif %}
    )
)
where
    (_valid_to is null or _valid_from < _valid_to)
    {%- if not options['deletes'] %}
    and _operation <> 'D'
    {%- endif %}
{%- endmacro -%}
