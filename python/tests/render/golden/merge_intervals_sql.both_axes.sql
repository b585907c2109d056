merge into shop.known_versions as stored
using (
    with touched_keys as (
        select distinct _key_hash
        from shop.customers__log
        where _commit_id > 260304093000123 or _superseded_by > 260304093000123
    ),

    wanted as (
        select intervals.*
        from (
            select * from known_intervals
        ) as intervals
        where intervals._key_hash in (select _key_hash from touched_keys)
    ),

    existing_rows as (
        select intervals.*
        from shop.known_versions as intervals
        where intervals._key_hash in (select _key_hash from touched_keys)
    )

    select
        wanted.`id`,
        wanted.`full name`,
        wanted.`tags`,
        coalesce(wanted.`_key_hash`, existing_rows.`_key_hash`) as `_key_hash`,
        coalesce(wanted.`_valid_from`, existing_rows.`_valid_from`) as `_valid_from`,
        wanted.`_valid_to`,
        coalesce(wanted.`_known_from`, existing_rows.`_known_from`) as `_known_from`,
        wanted.`_known_to`,
        wanted._key_hash is not null as _is_wanted
    from wanted
    full outer join existing_rows
        on wanted._key_hash <=> existing_rows._key_hash and wanted._valid_from <=> existing_rows._valid_from and wanted._known_from <=> existing_rows._known_from
    where
        wanted._key_hash is null
        or existing_rows._key_hash is null
        or not (
            wanted.`id` <=> existing_rows.`id`
            and wanted.`full name` <=> existing_rows.`full name`
            and concat('<', concat_ws('', array_sort(transform(map_entries(wanted.`tags`), x1 -> concat_ws('', transform(array(x1.key, x1.value), t2 -> coalesce(concat(octet_length(t2), ':', t2, ';'), 'N;')))))), if(wanted.`tags` is null, null, '>')) <=> concat('<', concat_ws('', array_sort(transform(map_entries(existing_rows.`tags`), x1 -> concat_ws('', transform(array(x1.key, x1.value), t2 -> coalesce(concat(octet_length(t2), ':', t2, ';'), 'N;')))))), if(existing_rows.`tags` is null, null, '>'))
            and wanted.`_valid_to` <=> existing_rows.`_valid_to`
            and wanted.`_known_to` <=> existing_rows.`_known_to`
        )
) as changes
    on stored._key_hash <=> changes._key_hash and stored._valid_from <=> changes._valid_from and stored._known_from <=> changes._known_from
when matched and changes._is_wanted then update set
    `id`
        = changes.`id`,
    `full name`
        = changes.`full name`,
    `tags`
        = changes.`tags`,
    `_valid_to`
        = changes.`_valid_to`,
    `_known_to`
        = changes.`_known_to`
when matched and not changes._is_wanted then delete
when not matched and changes._is_wanted then insert (
    `id`,
    `full name`,
    `tags`,
    `_key_hash`,
    `_valid_from`,
    `_valid_to`,
    `_known_from`,
    `_known_to`
) values (
    changes.`id`,
    changes.`full name`,
    changes.`tags`,
    changes.`_key_hash`,
    changes.`_valid_from`,
    changes.`_valid_to`,
    changes.`_known_from`,
    changes.`_known_to`
)
