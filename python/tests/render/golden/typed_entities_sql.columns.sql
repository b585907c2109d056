with entities as (
    select * from shop.atomic_events__entities
),

parsed as (
    select
        *,
        try_parse_json(data) as _document
    from entities
    where _commit_id > 7 and _commit_id <= 260304093000123
),

-- a lateral view, so that Spark does not look the properties up again for each use of a column
opened as (
    select
        parsed.*,
        properties._values
    from parsed
    lateral view outer inline(array(named_struct('_values', array(
        try_variant_get(_document, '$[\'sku\']', 'variant'),
        coalesce(try_variant_get(_document, '$[\'unit_price\']', 'variant'), try_variant_get(_document, '$[\'unitPrice\']', 'variant')),
        try_variant_get(_document, '$[\'stock\'][\'count\']', 'variant'),
        try_variant_get(_document, '$[\'tags\']', 'variant'),
        try_variant_get(_document, '$[\'currency\']', 'variant'),
        coalesce(try_variant_get(_document, '$[\'sold_at\']', 'variant'), try_variant_get(_document, '$[\'soldAt\']', 'variant'))
    )))) properties as _values
)

select
    `schema`,
    hierarchy,
    try_variant_get(_values[0], '$', 'string') as `sku`,
    try_cast(try_variant_get(_values[1], '$', 'string') as decimal(10,2)) as `unit_price`,
    try_cast(try_variant_get(_values[2], '$', 'string') as bigint) as `in_stock`,
    transform(try_variant_get(_values[3], '$', 'array<variant>'), x1 -> try_cast(try_variant_get(x1, '$', 'string') as int)) as `tags`,
    try_variant_get(_values[4], '$', 'string') as `currency`,
    try_cast(if(instr(trim(try_variant_get(_values[5], '$', 'string')), ':') between 1 and 4, null, try_variant_get(_values[5], '$', 'string')) as timestamp) as `sold_at`,
    _commit_id,
    nullif(concat_ws(', ', if((_values[0] is null or is_variant_null(_values[0])), 'null_value: sku', null),
        if(try_variant_get(_values[1], '$', 'string') is not null and try_cast(try_variant_get(_values[1], '$', 'string') as decimal(10,2)) is null, 'cast_failed: unit_price', null),
        if(try_variant_get(_values[2], '$', 'string') is not null and try_cast(try_variant_get(_values[2], '$', 'string') as bigint) is null, 'cast_failed: in_stock', null),
        if(not (_values[3] is null or is_variant_null(_values[3])) and try_variant_get(_values[3], '$', 'array<variant>') is null or coalesce(exists(try_variant_get(_values[3], '$', 'array<variant>'), x1 -> coalesce(try_variant_get(x1, '$', 'string') is not null and try_cast(try_variant_get(x1, '$', 'string') as int) is null, false)), false), 'cast_failed: tags', null),
        if(length(try_variant_get(_values[4], '$', 'string')) > 3, 'cast_failed: currency', null),
        if(try_variant_get(_values[5], '$', 'string') is not null and try_cast(if(instr(trim(try_variant_get(_values[5], '$', 'string')), ':') between 1 and 4, null, try_variant_get(_values[5], '$', 'string')) as timestamp) is null, 'cast_failed: sold_at', null)),
        '') as _reject_reason,
    concat('{"schema":"', concat('iglu:', `schema`.vendor, '/', `schema`.name, '/', `schema`.format, '/', `schema`.version), '","data":', data, '}') as _raw_payload
from opened
