merge into shop.people__rejects as rejects
using (
    select distinct
        rejects._reject_reason,
        rejects._key_hash,
        rejects._raw_payload
    from shop.people__rejects as rejects
    left anti join (select * from shop.people__rejects where _commit_id = 260304093000123) as again
        on
            rejects._key_hash = again._key_hash
            or (
                rejects._key_hash is null and again._key_hash is null
                and rejects._reject_reason = again._reject_reason and rejects._raw_payload <=> again._raw_payload
            )
    where rejects._business_date = date'2026-03-04' and rejects._commit_id < 260304093000123 and rejects._resolved_by is null
) as mended
    on
        rejects._business_date = date'2026-03-04' and rejects._commit_id < 260304093000123 and rejects._resolved_by is null
        and rejects._reject_reason <=> mended._reject_reason
        and rejects._key_hash <=> mended._key_hash
        and rejects._raw_payload <=> mended._raw_payload
when matched then update set
    _resolved_by = 260304093000123
