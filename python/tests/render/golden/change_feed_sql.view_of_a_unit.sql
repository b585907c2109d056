with commits as (
    select
        commit_id as _commit_id,
        completed_at as _commit_time,
        business_date as _business_date,
        is_correction as _is_correction
    from shop.tidemark_commits
    where
        relation = 'shop.customers'
        and kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback')
        and (state = 'completed' or undone_by is not null)
        and commit_id > 260304093000123
        and commit_id <= (
            select last_id
            from (
                with commits as (
                    select *
                    from (
                        select *
                        from (
                            select
                                *,
                                row_number() over (
                                    partition by relation, commit_id
                                    order by state_at desc nulls last, state = 'inflight' asc nulls last
                                ) as _tidemark_rank
                            from shop.tidemark_commits
                            where relation in ('shop.customers', 'shop.lines')
                        )
                        where _tidemark_rank = 1
                    )
                    where kind in ('load', 'full_refresh', 'rehash', 'promote', 'rollback', 'repeat')
                )

                select
                    relation,
                    coalesce(max(commit_id), 0) as last_id
                from commits
                cross join (select min(running.started_at) filter (where running.state = 'inflight') as _begun
                    from commits as running) as in_flight
                where
                    (state = 'completed' or undone_by is not null)
                    and kind <> 'repeat'
                    and (_begun is null or completed_at < _begun)
                group by relation
            )
            where relation = 'shop.customers'
        )
),

steps as (
    select
        _key_hash,
        _commit_id
    from shop.customers__log
    where _commit_id > 260304093000123 and _operation in ('I', 'U', 'D')
    union
    select
        _key_hash,
        _superseded_by as _commit_id
    from shop.customers__log
    where _superseded_by > 260304093000123 and _operation in ('I', 'U', 'D')
),

known_rows as (
    select
        log._key_hash,
        log._superseded_by,
        struct(
            log._commit_id as _commit_id,
            log._operation as _operation,
            log._row_hash as _row_hash,
            log._business_date as _order,
            struct(
                log.`id`,
                log.`full name`,
                log.`balance`,
                log.`loaded_at`
            ) as _image
        ) as _row
    from shop.customers__log as log
    left semi join steps on log._key_hash = steps._key_hash
    where
        log._operation in ('I', 'U', 'D')
        and (log._superseded_by is null or log._superseded_by > 260304093000123)
),

states as (
    select
        steps._key_hash,
        steps._commit_id,
        max_by(known_rows._row, known_rows._row._order) filter (
            where known_rows._row._commit_id <= steps._commit_id
            and (known_rows._superseded_by is null or known_rows._superseded_by > steps._commit_id)
        ) as _last,
        max_by(known_rows._row, known_rows._row._order) filter (
            where known_rows._row._commit_id <= 260304093000123
            and (known_rows._superseded_by is null or known_rows._superseded_by > 260304093000123)
        ) as _start
    from steps
    inner join known_rows on steps._key_hash = known_rows._key_hash
    group by steps._key_hash, steps._commit_id
),

transitions as (
    select
        states._key_hash,
        commits.*,
        states._last,
        if(
            row_number() over (partition by states._key_hash order by states._commit_id asc nulls last) = 1,
            states._start,
            lag(states._last) over (partition by states._key_hash order by states._commit_id asc nulls last)
        ) as _previous
    from states
    inner join commits on states._commit_id = commits._commit_id
),

changes as (
    select
        transitions.* except (_last, _previous),
        transitions._last._order,
        coalesce(transitions._last, transitions._previous) as _row,
        if(transitions._previous._operation = 'D', null, transitions._previous) as _pre_row,
        if(transitions._last._operation = 'D', null, transitions._last) as _post_row,
        1 as _position
    from transitions
    where transitions._is_correction
    union all
    select
        transitions.* except (_last, _previous),
        known_rows._row._order,
        known_rows._row,
        if(
            row_number() over (partition by transitions._key_hash, transitions._commit_id order by known_rows._row._order asc nulls last) = 1,
            if(transitions._previous._operation = 'D', null, transitions._previous),
            lag(if(known_rows._row._operation = 'D', null, known_rows._row))
                over (partition by transitions._key_hash, transitions._commit_id order by known_rows._row._order asc nulls last)
        ) as _pre_row,
        if(known_rows._row._operation = 'D', null, known_rows._row) as _post_row,
        row_number() over (partition by transitions._key_hash, transitions._commit_id order by known_rows._row._order asc nulls last) as _position
    from transitions
    inner join known_rows
        on transitions._key_hash = known_rows._key_hash
            and transitions._commit_id = known_rows._row._commit_id
    where not transitions._is_correction
),

judged as (
    select
        * except (_pre_row, _post_row),
        _pre_row._image as _pre_image,
        _post_row._image as _post_image,
        case when _pre_row is null then 'I' when _post_row is null then 'D' else 'U' end as _operation,
        case
            when _pre_row is not null and _post_row is not null
                then array_compact(array(if(_pre_row._image.`full name` <=> _post_row._image.`full name`, null, 'full name'),
                        if(_pre_row._image.`balance` <=> _post_row._image.`balance`, null, 'balance'),
                        if(_pre_row._image.`loaded_at` <=> _post_row._image.`loaded_at`, null, 'loaded_at')))
        end as _changed_fields
    from changes
    where not (_pre_row._row_hash <=> _post_row._row_hash)
        or not (
            _pre_row._image.`loaded_at` <=> _post_row._image.`loaded_at`
        )
)

select
    coalesce(_post_image.`id`, _pre_image.`id`) as `id`,
    _key_hash,
    _operation,
    _commit_id,
    _commit_time,
    _business_date,
    _position,
    _changed_fields,
    concat(
        '{"event_type":"',
        case _operation when 'I' then 'insert' when 'D' then 'delete' else 'update' end,
        '"',
        ',"change":',
        case
            when _operation = 'D' then '{}'
            else concat(
                '{',
                array_join(array_compact(array(
                    nullif(regexp_extract(to_json(named_struct('full name', if(_operation = 'I' or array_contains(_changed_fields, 'full name'), _post_image.`full name`, null), 'balance', if(_operation = 'I' or array_contains(_changed_fields, 'balance'), _post_image.`balance`, null), 'loaded_at', if(_operation = 'I' or array_contains(_changed_fields, 'loaded_at'), _post_image.`loaded_at`, null)), map('ignoreNullFields', 'true', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')), '(?s)^.(.*).$', 1), ''),
                    if((_operation = 'I' or array_contains(_changed_fields, 'full name')) and _post_image.`full name` is null, '"full name":null', null),
                    if((_operation = 'I' or array_contains(_changed_fields, 'balance')) and _post_image.`balance` is null, '"balance":null', null),
                    if((_operation = 'I' or array_contains(_changed_fields, 'loaded_at')) and _post_image.`loaded_at` is null, '"loaded_at":null', null)
                )), ','),
                '}'
            )
        end,
        ',"pre_image":',
        coalesce(to_json(_pre_image, map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')), 'null'),
        ',"post_image":',
        coalesce(to_json(_post_image, map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')), 'null'),
        '}'
    ) as _change
from judged
order by _commit_id asc nulls last, _order asc nulls last, _key_hash asc nulls last, _position asc nulls last
