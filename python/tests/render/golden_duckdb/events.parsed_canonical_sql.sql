select
    num,
    is_ours,
    landed_id,
    coalesce(known_doubt, case
        when compact = 'null' then null
        when strlen(line) > 1048576 or contains(line, '\u0000')
    or (strlen(line) > 800 and (strlen(line) - strlen(replace(line, '{', '')) > 400 or strlen(line) - strlen(replace(line, '[', '')) > 400 or (regexp_matches(line, '[0-9]{40}') and contains(translate(line, '123456789', '000000000'), repeat('0', 800)))))
    or (regexp_matches(line, '[:,\[]\s*-?(nan|inf)', 'i')
        and regexp_matches(regexp_replace(line, '"(?:[^"\\]|\\.)*"', '', 'g'), 'nan|inf', 'i')) then 'a line has numbers or texts of a form that is read by Spark alone'
        when not is_plain then 'a line has numbers or texts of a form that is read by Spark alone'
        when list_unique(names) <> len(names) then 'a line has numbers or texts of a form that is read by Spark alone'
        when names = [] or list_has_any(names, ['_schema', '_primary_key', '_prev_table']) then 'a line is no event of a row'
        when not starts_with("_operation", '"') or not starts_with("db", '"') or not starts_with("table", '"') then 'a line is no event of a row'
        when _operation is null or operation in ('CREATE_DATABASE', 'DROP_DATABASE') then 'a line is no event of a row'
        when not regexp_full_match(case when starts_with("_sequence_num", '"') then case when contains("_sequence_num", '\') then json_extract_string("_sequence_num", '$') else replace("_sequence_num", '"', '') end when ends_with("_sequence_num", '.0') then left("_sequence_num", -2) else "_sequence_num" end, '0|[1-9][0-9]{0,17}') then 'a line is no event of a row'
        when not is_ours or operation = 'COMMIT' then null
        when op is null then 'a line is no event of a row'
        when shape is null then 'an image has other columns than are declared'
        when op <> 'd' and not (shape in (1) and shape in (1, 2)) then 'an event has no key, or a part of one'
        when op = 'd' and not shape in (1, 2) then 'an event has no key, or a part of one'
        when not (starts_with(_offset, '"') or regexp_full_match(_offset, '0|[1-9][0-9]{0,17}')) or not (starts_with(_transaction_id, '"') or regexp_full_match(_transaction_id, '0|[1-9][0-9]{0,17}')) then 'a line has numbers or texts of a form that is read by Spark alone'
        when case when starts_with("_is_snapshot", '"') then case when contains("_is_snapshot", '\') then json_extract_string("_is_snapshot", '$') else replace("_is_snapshot", '"', '') end when ends_with("_is_snapshot", '.0') then left("_is_snapshot", -2) else "_is_snapshot" end not in ('true', 'false') then 'a line has numbers or texts of a form that is read by Spark alone'
        when case when _event_time is null or starts_with(_event_time, '"') or _event_time in ('true', 'false') then false else _event_time in ('-0', '-0.0') or not regexp_full_match(_event_time, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end then 'a line has numbers or texts of a form that is read by Spark alone'
        when case when before0 is null or starts_with(before0, '"') or before0 in ('true', 'false') then false else before0 in ('-0', '-0.0') or not regexp_full_match(before0, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when before1 is null or starts_with(before1, '"') or before1 in ('true', 'false') then false else before1 in ('-0', '-0.0') or not regexp_full_match(before1, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when before2 is null or starts_with(before2, '"') or before2 in ('true', 'false') then false else before2 in ('-0', '-0.0') or not regexp_full_match(before2, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when before3 is null or starts_with(before3, '"') or before3 in ('true', 'false') then false else before3 in ('-0', '-0.0') or not regexp_full_match(before3, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when before4 is null or starts_with(before4, '"') or before4 in ('true', 'false') then false else before4 in ('-0', '-0.0') or not regexp_full_match(before4, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end then 'a line has numbers or texts of a form that is read by Spark alone'
        when case when after0 is null or starts_with(after0, '"') or after0 in ('true', 'false') then false else after0 in ('-0', '-0.0') or not regexp_full_match(after0, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when after1 is null or starts_with(after1, '"') or after1 in ('true', 'false') then false else after1 in ('-0', '-0.0') or not regexp_full_match(after1, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when after2 is null or starts_with(after2, '"') or after2 in ('true', 'false') then false else after2 in ('-0', '-0.0') or not regexp_full_match(after2, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when after3 is null or starts_with(after3, '"') or after3 in ('true', 'false') then false else after3 in ('-0', '-0.0') or not regexp_full_match(after3, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end or case when after4 is null or starts_with(after4, '"') or after4 in ('true', 'false') then false else after4 in ('-0', '-0.0') or not regexp_full_match(after4, '-?[0-9]{1,38}|-?[0-9]{1,17}\.[0-9]{1,17}') end then 'a line has numbers or texts of a form that is read by Spark alone'
        when contains(line, '__gone') or contains(line, 'X19nb25l') or contains(line, '5f5f676f6e65') then 'a value was not logged by the source'
    end) as doubt,
    op,
    md5(case shape when 1 then concat('{"_operation":', case when "_operation" is null then 'null' when ends_with("_operation", '.0') then left("_operation", -2) else "_operation" end, ',"_sequence_num":', case when "_sequence_num" is null then 'null' when ends_with("_sequence_num", '.0') then left("_sequence_num", -2) else "_sequence_num" end, ',"id":', case when after0 is null then 'null' when ends_with(after0, '.0') then left(after0, -2) else after0 end, ',"name":', case when after1 is null then 'null' when ends_with(after1, '.0') then left(after1, -2) else after1 end, ',"price":', case when after2 is null then 'null' when ends_with(after2, '.0') then left(after2, -2) else after2 end, ',"seen":', case when after4 is null then 'null' when ends_with(after4, '.0') then left(after4, -2) else after4 end, ',"since":', case when after3 is null then 'null' when ends_with(after3, '.0') then left(after3, -2) else after3 end, '}') when 2 then concat('{"_before_id":', case when before0 is null then 'null' when ends_with(before0, '.0') then left(before0, -2) else before0 end, ',"_operation":', case when "_operation" is null then 'null' when ends_with("_operation", '.0') then left("_operation", -2) else "_operation" end, ',"_sequence_num":', case when "_sequence_num" is null then 'null' when ends_with("_sequence_num", '.0') then left("_sequence_num", -2) else "_sequence_num" end, '}') else '' end) as content,
    case when op <> 'd' then case shape when 2 then ['id', 'name', 'price', 'since', 'seen'] end end as unsupplied,
    case when starts_with("db", '"') then case when contains("db", '\') then json_extract_string("db", '$') else replace("db", '"', '') end when ends_with("db", '.0') then left("db", -2) else "db" end as db,
    case when starts_with("table", '"') then case when contains("table", '\') then json_extract_string("table", '$') else replace("table", '"', '') end when ends_with("table", '.0') then left("table", -2) else "table" end as "table",
    case when starts_with("_sequence_num", '"') then case when contains("_sequence_num", '\') then json_extract_string("_sequence_num", '$') else replace("_sequence_num", '"', '') end when ends_with("_sequence_num", '.0') then left("_sequence_num", -2) else "_sequence_num" end as "sequence_num", case when starts_with("_offset", '"') then case when contains("_offset", '\') then json_extract_string("_offset", '$') else replace("_offset", '"', '') end when ends_with("_offset", '.0') then left("_offset", -2) else "_offset" end as "offset", case when starts_with("_transaction_id", '"') then case when contains("_transaction_id", '\') then json_extract_string("_transaction_id", '$') else replace("_transaction_id", '"', '') end when ends_with("_transaction_id", '.0') then left("_transaction_id", -2) else "_transaction_id" end as "transaction_id", case when starts_with("_is_snapshot", '"') then case when contains("_is_snapshot", '\') then json_extract_string("_is_snapshot", '$') else replace("_is_snapshot", '"', '') end when ends_with("_is_snapshot", '.0') then left("_is_snapshot", -2) else "_is_snapshot" end as "is_snapshot", case when starts_with("_event_time", '"') then case when contains("_event_time", '\') then json_extract_string("_event_time", '$') else replace("_event_time", '"', '') end when ends_with("_event_time", '.0') then left("_event_time", -2) else "_event_time" end as "time_text",
    case when op = 'd' and shape in (2) then case when starts_with("before0", '"') then case when contains("before0", '\') then json_extract_string("before0", '$') else replace("before0", '"', '') end when ends_with("before0", '.0') then left("before0", -2) else "before0" end else case when starts_with("after0", '"') then case when contains("after0", '\') then json_extract_string("after0", '$') else replace("after0", '"', '') end when ends_with("after0", '.0') then left("after0", -2) else "after0" end end as f0, case when op = 'd' and shape in (2) then case when starts_with("before1", '"') then case when contains("before1", '\') then json_extract_string("before1", '$') else replace("before1", '"', '') end when ends_with("before1", '.0') then left("before1", -2) else "before1" end else case when starts_with("after1", '"') then case when contains("after1", '\') then json_extract_string("after1", '$') else replace("after1", '"', '') end when ends_with("after1", '.0') then left("after1", -2) else "after1" end end as f1, case when op = 'd' and shape in (2) then case when starts_with("before2", '"') then case when contains("before2", '\') then json_extract_string("before2", '$') else replace("before2", '"', '') end when ends_with("before2", '.0') then left("before2", -2) else "before2" end else case when starts_with("after2", '"') then case when contains("after2", '\') then json_extract_string("after2", '$') else replace("after2", '"', '') end when ends_with("after2", '.0') then left("after2", -2) else "after2" end end as f2, case when op = 'd' and shape in (2) then case when starts_with("before3", '"') then case when contains("before3", '\') then json_extract_string("before3", '$') else replace("before3", '"', '') end when ends_with("before3", '.0') then left("before3", -2) else "before3" end else case when starts_with("after3", '"') then case when contains("after3", '\') then json_extract_string("after3", '$') else replace("after3", '"', '') end when ends_with("after3", '.0') then left("after3", -2) else "after3" end end as f3, case when op = 'd' and shape in (2) then case when starts_with("before4", '"') then case when contains("before4", '\') then json_extract_string("before4", '$') else replace("before4", '"', '') end when ends_with("before4", '.0') then left("before4", -2) else "before4" end else case when starts_with("after4", '"') then case when contains("after4", '\') then json_extract_string("after4", '$') else replace("after4", '"', '') end when ends_with("after4", '.0') then left("after4", -2) else "after4" end end as f4, case when starts_with("before0", '"') then case when contains("before0", '\') then json_extract_string("before0", '$') else replace("before0", '"', '') end when ends_with("before0", '.0') then left("before0", -2) else "before0" end as b0
from (
    select *,
        (lower(concat_ws('.', case when starts_with("table", '"') then case when contains("table", '\') then json_extract_string("table", '$') else replace("table", '"', '') end when ends_with("table", '.0') then left("table", -2) else "table" end)) in ('shop.customers') or lower(concat_ws('.', case when starts_with("schema", '"') then case when contains("schema", '\') then json_extract_string("schema", '$') else replace("schema", '"', '') end when ends_with("schema", '.0') then left("schema", -2) else "schema" end, case when starts_with("table", '"') then case when contains("table", '\') then json_extract_string("table", '$') else replace("table", '"', '') end when ends_with("table", '.0') then left("table", -2) else "table" end)) in ('shop.customers') or lower(concat_ws('.', case when starts_with("db", '"') then case when contains("db", '\') then json_extract_string("db", '$') else replace("db", '"', '') end when ends_with("db", '.0') then left("db", -2) else "db" end, case when starts_with("table", '"') then case when contains("table", '\') then json_extract_string("table", '$') else replace("table", '"', '') end when ends_with("table", '.0') then left("table", -2) else "table" end)) in ('shop.customers') or lower(concat_ws('.', case when starts_with("db", '"') then case when contains("db", '\') then json_extract_string("db", '$') else replace("db", '"', '') end when ends_with("db", '.0') then left("db", -2) else "db" end, case when starts_with("schema", '"') then case when contains("schema", '\') then json_extract_string("schema", '$') else replace("schema", '"', '') end when ends_with("schema", '.0') then left("schema", -2) else "schema" end, case when starts_with("table", '"') then case when contains("table", '\') then json_extract_string("table", '$') else replace("table", '"', '') end when ends_with("table", '.0') then left("table", -2) else "table" end)) in ('shop.customers')) as is_ours,
        case operation when 'INSERT' then 'c' when 'READ' then 'r' when 'UPDATE' then 'u' when 'UPSERT' then 'p' when 'DELETE' then 'd' end as op,
        list_position(cast([['_operation', '_sequence_num', 'id', 'name', 'price', 'seen', 'since'], ['_before_id', '_operation', '_sequence_num']] as varchar[][]), names) as shape
    from (
        select *, upper(case when starts_with("_operation", '"') then case when contains("_operation", '\') then json_extract_string("_operation", '$') else replace("_operation", '"', '') end when ends_with("_operation", '.0') then left("_operation", -2) else "_operation" end) as operation, cast(null as varchar) as schema
        from (select
        num,
        line,
        compact,
        landed_id,
        known_doubt,
        case when bare in (line, compact) then true else replace(bare, ' ', '') = compact end
            as is_plain,
        cast(event."_operation" as varchar) as "_operation",
        cast(event."_database" as varchar) as "db",
        cast(event."_table" as varchar) as "table",
        cast(event."_sequence_num" as varchar) as "_sequence_num",
        cast(event."_offset" as varchar) as "_offset",
        cast(event."_transaction_id" as varchar) as "_transaction_id",
        cast(event."_is_snapshot" as varchar) as "_is_snapshot",
        cast(event."_event_time" as varchar) as "_event_time",
        cast(event."id" as varchar) as after0,
        cast(event."name" as varchar) as after1,
        cast(event."price" as varchar) as after2,
        cast(event."since" as varchar) as after3,
        cast(event."seen" as varchar) as after4,
        cast(event."_before_id" as varchar) as before0,
        cast(event."_before_name" as varchar) as before1,
        cast(event."_before_price" as varchar) as before2,
        cast(event."_before_since" as varchar) as before3,
        cast(event."_before_seen" as varchar) as before4,
        names
    from (
        select
            num,
            line,
            landed_id,
            known_doubt,
            json_transform(line, '{"_operation": "JSON", "_database": "JSON", "_table": "JSON", "_sequence_num": "JSON", "_offset": "JSON", "_transaction_id": "JSON", "_is_snapshot": "JSON", "_event_time": "JSON", "id": "JSON", "name": "JSON", "price": "JSON", "since": "JSON", "seen": "JSON", "_before_id": "JSON", "_before_name": "JSON", "_before_price": "JSON", "_before_since": "JSON", "_before_seen": "JSON"}') as event,
            list_sort(json_keys(line)) as names,
            cast(json(line) as varchar) as bare,
            case when contains(line, ' ') then replace(line, ' ', '') else line end as compact
        from lines
        where line <> '' and (left(line, 1) <> ' ' or trim(line, ' ') <> '')
    ))
    )
)
