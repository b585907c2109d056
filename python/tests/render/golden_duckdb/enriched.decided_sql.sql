with others as (
    select id, fingerprint from claims
    where commit_id is distinct from 20260304000000000001
        and not (commit_id is null and etl in (1, 7))
),
claimed_ids as (
    select id, min(fingerprint) as least, max(fingerprint) as greatest from others group by id
),
claimed as (select distinct id, fingerprint from others),
copies as (
    select
        usable.place, usable.id, usable.fingerprint,
        claimed.id is not null as is_claimed,
        claimed_ids.least <> usable.fingerprint or claimed_ids.greatest <> usable.fingerprint
            as has_claimed_sibling,
        row_number() over (
            partition by usable.id, usable.fingerprint
            order by
                etl asc nulls last, collected asc nulls last, line_hash asc nulls last, usable.place
        ) as copy
    from usable
    left join ties on usable.place = ties.place
    left join claimed_ids on usable.id = claimed_ids.id
    left join claimed on usable.id = claimed.id and usable.fingerprint = claimed.fingerprint
),
without_copies as (
    select *, case when copy > 1 then 'natural_in_batch' when is_claimed then 'natural_cross_batch' end as dropped
    from copies
),
siblings as (
    select
        *,
        min(if(dropped is null, fingerprint, null)) over (partition by id) as least,
        max(if(dropped is null, fingerprint, null)) over (partition by id) as greatest
    from without_copies
)
select place, case when dropped is not null then dropped when least <> greatest then 'synthetic_in_batch' when has_claimed_sibling then 'synthetic_cross_batch' end as kind, id, fingerprint
from siblings
where kind is not null
