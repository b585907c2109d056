select coalesce(sum(_contents - greatest(_known_contents, 1)), 0) as row_count
from (
    select
        count(distinct _content) as _contents,
        count(distinct if(_is_new, null, _content)) as _known_contents
    from (
        select
            _key_hash,
            _sequence_by as _place,
            if(_tidemark_effect = 'delete', 'deleted', md5(concat_ws('',
                concat('9:full name', octet_length(`full name`), ':', `full name`),
                concat('5:phone', octet_length(`phone`), ':', `phone`),
                concat('7:balance', octet_length(trim(trailing '.' from trim(trailing '0' from cast(`balance` as string)))), ':', trim(trailing '.' from trim(trailing '0' from cast(`balance` as string))))
            ))) as _content,
            true as _is_new
        from staged_in_sequence
        where _is_usable and _tidemark_effect in ('upsert', 'delete')
        union all
        select
            log._key_hash,
            log._sequence_by,
            if(log._source_operation in ('DELETE', 'MOVE_OUT'), 'deleted', log._row_hash),
            false
        from shop.customers_in_sequence__log as log
        left semi join staged_in_sequence as staged
            on
                staged._is_usable and log._key_hash = staged._key_hash
                and log._sequence_by <=> staged._sequence_by
        where log._superseded_by is null
            and log._source_operation not in ('TRUNCATE', 'SNAPSHOT', 'ADD_COLUMN')
    )
    group by _key_hash, _place
    having max(_is_new)
)
