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
        and commit_id > 260304093000123 and commit_id <= 260304093000223
),

steps as (
    select
        _key_hash,
        _commit_id
    from shop.customers__log
    where _commit_id > 260304093000123 and _commit_id <= 260304093000223 and _operation in ('I', 'U', 'D')
    union
    select
        _key_hash,
        _superseded_by as _commit_id
    from shop.customers__log
    where _superseded_by > 260304093000123 and _superseded_by <= 260304093000223 and _operation in ('I', 'U', 'D')
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
        and log._commit_id <= 260304093000223
        and (log._superseded_by is null or log._superseded_by > 260304093000123)
),

lined_up as (
    select
        _key_hash,
        _row,
        _row._commit_id as _commit_id,
        _row._order as _order,
        lag(if(_row._operation = 'D', null, _row)) over (
            partition by _key_hash
            order by if(_row._commit_id > 260304093000123, _row._commit_id, 0) asc nulls last,
                _row._order asc nulls last
        ) as _pre_row,
        if(_row._operation = 'D', null, _row) as _post_row,
        row_number() over (partition by _key_hash, _row._commit_id
            order by _row._order asc nulls last) as _position
    from known_rows
),

changes as (
    select
        lined_up.*,
        commits.* except (_commit_id)
    from lined_up
    inner join commits on lined_up._commit_id = commits._commit_id
),

folded as (
    select
        _key_hash,
        max_by(struct(_commit_id, _commit_time, _business_date), struct(_commit_id, _position)) as _last_commit,
        max_by(_row, struct(_commit_id, _position)) as _row,
        min_by(struct(_pre_row), struct(_commit_id, _position))._pre_row as _pre_row,
        max_by(struct(_post_row), struct(_commit_id, _position))._post_row as _post_row
    from changes
    where not (_pre_row._row_hash <=> _post_row._row_hash)
    or not (
        _pre_row._image.`loaded_at` <=> _post_row._image.`loaded_at`
    )
    group by _key_hash
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
    from (select * except (_last_commit), _last_commit.* from folded)
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
    _changed_fields,
    concat(
        '{"event_type":"',
        case _operation when 'I' then 'insert' when 'D' then 'delete' else 'update' end,
        '"',
        ',"post_image":',
        coalesce(to_json(_post_image, map('ignoreNullFields', 'false', 'timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSSXXX', 'timestampNTZFormat', 'yyyy-MM-dd\'T\'HH:mm:ss.SSSSSS')), 'null'),
        '}'
    ) as _change
from judged
order by _commit_id asc nulls last, _key_hash asc nulls last
