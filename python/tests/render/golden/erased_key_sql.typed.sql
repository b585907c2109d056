select
    md5(concat_ws('',
        concat('2:id', octet_length(cast(key_values.`id` as string)), ':', cast(key_values.`id` as string))
    )) as md5,
    sha2(concat_ws('',
        concat('2:id', octet_length(cast(key_values.`id` as string)), ':', cast(key_values.`id` as string))
    ), 256) as sha256,
    lower(concat(lpad(hex(xxhash64(concat_ws('',
        concat('2:id', octet_length(cast(key_values.`id` as string)), ':', cast(key_values.`id` as string))
    ))), 16, '0'),
        lpad(hex(xxhash64('tidemark', concat_ws('',
        concat('2:id', octet_length(cast(key_values.`id` as string)), ':', cast(key_values.`id` as string))
    ))), 16, '0'))) as xxhash64x2,
    to_json(array_compact(array(
        cast(key_values.`id` as string)
    ))) as texts,
    '7' is not null
        and key_values.`id` is null
            as misfit_1
from (
    select
        try_cast('7' as bigint)
            as `id`
) as key_values
