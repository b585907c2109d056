{#- Staged events of which those that were rejected before, for the same reason, are no rejects again but
    events that come again. `rejects` has the rejects of former batches, `condition` says which of the staged
    ones are looked up there. -#}
{%- macro repeated_rejects_sql(staged, rejects, condition) -%}
select
    staged.* except (_reject_reason, _raw_payload, _is_duplicate),
    if(known_rejects._known_reason is null, staged._reject_reason, null) as _reject_reason,
    if(known_rejects._known_reason is null, staged._raw_payload, null) as _raw_payload,
    staged._is_duplicate or known_rejects._known_reason is not null as _is_duplicate
from {{ staged }} as staged
left join (
    select distinct
        _reject_reason as _known_reason,
        _key_hash as _known_key_hash,
        _raw_payload as _known_payload
    from {{ rejects }}
) as known_rejects
    on
        {{ condition }}
        and staged._reject_reason = known_rejects._known_reason
        and staged._raw_payload = known_rejects._known_payload
        and staged._key_hash <=> known_rejects._known_key_hash
{%- endmacro -%}
