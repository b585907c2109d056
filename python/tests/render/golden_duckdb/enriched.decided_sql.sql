with claimed as (
    select id, fingerprint, max(until) as until from claims
    where commit_id is distinct from 20260304000000000001
        and not (commit_id is null and etl in (1, 7))
    group by id, fingerprint
),
claimed_ids as (
    select
        id,
        max(if(nth = 1, fingerprint, null)) as fingerprint,
        max(if(nth = 1, until, null)) as until,
        max(if(nth = 2, until, null)) as others_until
    from (
        select *, row_number() over (partition by id order by until desc, fingerprint) as nth
        from claimed
    )
    where nth <= 2
    group by id
),
copies as (
    select
        usable.place, usable.id, usable.fingerprint,
        claimed.until >= coalesce(epoch_us(usable.etl), 7) as is_claimed,
        if(
            claimed_ids.fingerprint <> usable.fingerprint,
            claimed_ids.until,
            claimed_ids.others_until
        ) >= coalesce(epoch_us(usable.etl), 7) as has_claimed_sibling,
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
