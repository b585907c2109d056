{#- The rejects of a business date that a later load of it mended, `commit_id`: what its rejects do not have,
    by key where the key could be read, else by reason and payload. -#}
{%- macro resolved_rejects_sql(relation, business_date, commit_id) -%}
select distinct
    rejects._reject_reason,
    rejects._key_hash,
    rejects._raw_payload
from {{ relation }} as rejects
left anti join (select * from {{ relation }} where _commit_id = {{ commit_id }}) as again
    on
        rejects._key_hash = again._key_hash
        or (
            rejects._key_hash is null and again._key_hash is null
            and rejects._reject_reason = again._reject_reason and rejects._raw_payload <=> again._raw_payload
        )
where {{ tidemark._open_rejects_expr(business_date, commit_id) }}
{%- endmacro -%}

{%- macro _open_rejects_expr(business_date, commit_id) -%}
    {{ return("rejects._business_date = date'" ~ business_date ~ "' and rejects._commit_id < " ~ commit_id
        ~ ' and rejects._resolved_by is null') }}
{%- endmacro -%}

{#- Mark them with the load. -#}
{%- macro resolve_rejects_sql(relation, business_date, commit_id) -%}
merge into {{ relation }} as rejects
using (
    {{ tidemark.resolved_rejects_sql(relation, business_date, commit_id) | indent(4) }}
) as mended
    on
        {{ tidemark._open_rejects_expr(business_date, commit_id) }}
        and rejects._reject_reason <=> mended._reject_reason
        and rejects._key_hash <=> mended._key_hash
        and rejects._raw_payload <=> mended._raw_payload
when matched then update set
    _resolved_by = {{ commit_id }}
{%- endmacro -%}

{#- How many of the rows that a load rejects the load of the date before, `last_commit_id`, did not. -#}
{%- macro new_rejects_sql(rejected, relation, last_commit_id) -%}
select count(*) as new_count
from (
    select
        _reject_reason,
        _key_hash,
        _raw_payload
    from ({{ rejected }})
    except all
    select
        _reject_reason,
        _key_hash,
        _raw_payload
    from {{ relation }}
    where _commit_id = {{ last_commit_id }}
)
{%- endmacro -%}
