with parsed_events as (
    select
        *,
        if(monotonically_increasing_id() >= 0, _kind, null) as _parsed_kind
    from events
),

images as (
    select
        * except (_parsed_kind),
        if(_operation = 'DELETE', coalesce(_before, _after), _after) as _image
    from parsed_events
    where
        _parsed_kind in ('row', 'truncate', 'unreadable')
        and _landing_num > 7
        and _landing_num < 9
),

texts as (
    select
        *,
        _image['id'] as `_tidemark_text_id`,
        _image['full name'] as `_tidemark_text_full name`,
        _image['phone'] as `_tidemark_text_phone`,
        _image['balance'] as `_tidemark_text_balance`,
        _before['id'] as `_tidemark_before_id`
    from images
),

given as (
    select
        *,
        if(coalesce(`_tidemark_text_full name` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null,
                `_tidemark_text_full name`) as `_tidemark_given_full name`,
        if(coalesce(`_tidemark_text_phone` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null,
                `_tidemark_text_phone`) as `_tidemark_given_phone`,
        if(coalesce(`_tidemark_text_balance` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false), null,
                `_tidemark_text_balance`) as `_tidemark_given_balance`
    from texts
),

decoded as (
    select
        *,
        try_cast(`_tidemark_text_id` as bigint)
            as `id`,
        `_tidemark_given_full name`
            as `full name`,
        `_tidemark_given_phone`
            as `phone`,
        case when `_tidemark_given_balance` rlike '^[-+]?[0-9]*([.][0-9]{0,2}0*)?$' or `_tidemark_given_balance` rlike '^[-+]?[0-9]+([.][0-9]*)?[eE][-+]?[0-9]{1,3}$' and (`_tidemark_given_balance` rlike '^[-+]?[0.]+[eE]' or length(regexp_extract(`_tidemark_given_balance`, '[.]([0-9]+)', 1)) - length(regexp_extract(replace(`_tidemark_given_balance`, '.', ''), '(0*)[eE]', 1)) - int(regexp_extract(`_tidemark_given_balance`, '[eE](.*)', 1)) <= 2) then try_cast(`_tidemark_given_balance` as decimal(10,2)) end
            as `balance`,
        try_cast(`_tidemark_before_id` as bigint)
            as `_before_id`
    from given
)

select
    failure.reason,
    count(*) as count,
    min(failure.value) as value
from (
    select explode(array(
        cast(null as struct<reason: string, value: string>),
        case
            when (_operation <> 'DELETE' or true) and `_tidemark_text_id` is not null and not coalesce(`_tidemark_text_id` in ('__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==', '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', '["__debezium_unavailable_value"]', '[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]', '[95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118, 97, 108, 117, 101]', '{"__debezium_unavailable_value":"__debezium_unavailable_value"}', '{"__debezium_unavailable_value": "__debezium_unavailable_value"}'), false) and `id` is null
                then named_struct('reason', 'cast_failed: id', 'value', cast(`_tidemark_text_id` as string))
            when _kind = 'row' and `id` is null and not coalesce((_operation in ('TRUNCATE', 'TRUNCATE_TABLE')), false)
                then named_struct('reason', 'null_key: id', 'value', cast(null as string))
        end,
        case
            when (_operation <> 'DELETE' or false) and `_tidemark_given_full name` is not null and `full name` is null
                then named_struct('reason', 'cast_failed: full name', 'value', cast(`_tidemark_text_full name` as string))
        end,
        case
            when (_operation <> 'DELETE' or false) and `_tidemark_given_phone` is not null and `phone` is null
                then named_struct('reason', 'cast_failed: phone', 'value', cast(`_tidemark_text_phone` as string))
        end,
        case
            when (_operation <> 'DELETE' or false) and `_tidemark_given_balance` is not null and `balance` is null
                then named_struct('reason', 'cast_failed: balance', 'value', cast(`_tidemark_text_balance` as string))
        end,
        case
            when `_tidemark_before_id` is not null and `_before_id` is null
                then named_struct('reason', 'cast_failed: _before_id', 'value', cast(`_tidemark_before_id` as string))
        end
    )) as failure
    from decoded
    where not coalesce(_kind = 'unreadable', false)
)
where failure is not null
group by failure.reason
