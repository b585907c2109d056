"""The queries of a batch of change events, in DuckDB's SQL.

    lines » parsed_sql » parsed » staged_sql » staged ──► staging_sql  » files of staging
                                  existing  » replayed ─► log_sql      » files of the log
                                                      └─► current_sql  » files of current

Columns go by numbers, as in tidemark.engine.sql.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tidemark.engine.events.lines import LONGEST
from tidemark.engine.events.load import Batch
from tidemark.engine.events.types import unproven_sql, value_sql
from tidemark.engine.load import Target
from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.engine.sql import changed_sql, hash_sql, named_sql

_TEXTS = ("name", "db", "schema", "table", "gtid")
# and how many digits they have at most
_TIMES = {"ts_ms": 14, "ts_us": 17}
# what positions are made of: what stands between the parts, and these
_POSITIONS = {
    "postgresql": (":", ("txId", "lsn")),
    "mysql": (":", ("file", "pos", "row")),
    "mariadb": (":", ("file", "pos", "row")),
    "sqlserver": (" ", ("commit_lsn", "change_lsn")),
    "oracle": (":", ("scn", "txId", "rs_id", "ssn")),
}
_PLACES = sorted({part for _, parts in _POSITIONS.values() for part in parts})
_FIELDS = ("connector", "snapshot", "event_serial_no", *_TEXTS, *_TIMES, *_PLACES)
# with one of these a line is no plain envelope of a row
_OTHER = ("payload", "value", "schema", "key", "_id", "ddl", "status", "tableChanges")
_SNAPSHOTS = (
    *("false", "true", "first", "last", "first_in_data_collection", "last_in_data_collection"),
    *("last_in_collection", "incremental"),
)
SPARK_ALONE = "a line has numbers or texts of a form that is read by Spark alone"
_NO_ROW = "a line is no plain envelope of a change of a row"
_OTHER_COLUMNS = "an image has other columns than are declared"
_NO_PLACE = "an event has no position that is known"
_NOT_LOGGED = "a value was not logged by the source"


def parsed_sql(batch: Batch) -> str:
    """Return a query of the lines: what they say of an event, all values as texts.

    Its columns: `num`, `is_ours`, `landed_id`, `doubt` (why the engine does not answer for the
    line), `op`, `content`, what Debezium tells of the source, f0, f1, … (the image that counts)
    and, of keys, b0, … (the image before).
    """
    columns = batch.load.columns
    every = list_sql(sorted(column.name for column in columns))
    keys = list_sql(sorted(batch.load.keys))
    values = [
        f"case when op = 'd' then {_text(f'before{number}')} else {_text(f'after{number}')} end "
        f"as f{number}"
        for number in range(len(columns))
    ]
    numbers = [batch.load.number(name) for name in batch.load.keys]
    values += [f"{_text(f'before{number}')} as b{number}" for number in numbers]
    return f"""select
    num,
    is_ours,
    landed_id,
    {_doubt(batch, every, keys)} as doubt,
    op,
    md5(concat({_image(batch, "before", every, keys)}, '|', {_image(batch, "after", every, keys)}))
        as content,
    {", ".join(f"{_text(name)} as {identifier(name)}" for name in (*_FIELDS, "transaction_id"))},
    {", ".join(values)}
from (
    select *, {is_ours_sql(batch.tables)} as is_ours
    from ({_fields_sql(batch)})
)"""


def _fields_sql(batch: Batch) -> str:
    """Return a query of the lines taken apart: JSON by JSON, NULL for nothing and for null."""
    names = [column.name for column in batch.load.columns]
    image = dict.fromkeys(names, "JSON")
    envelope = {
        "op": "VARCHAR",
        "transaction": {"id": "JSON"},
        "source": dict.fromkeys(_FIELDS, "JSON"),
        "before": image,
        "after": image,
    }
    fields = [f"cast(event.source.{identifier(name)} as varchar) as {identifier(name)}" for name in _FIELDS]  # fmt: skip  # noqa: E501
    for side in ("before", "after"):
        fields += [
            f"cast(event.{side}.{identifier(name)} as varchar) as {side}{number}"
            for number, name in enumerate(names)
        ]
    return f"""select
        num,
        line,
        compact,
        landed_id,
        known_doubt,
        case when bare in (line, compact) then true else replace(bare, ' ', '') = compact end
            as is_plain,
        event.op as op,
        cast(event.transaction.id as varchar) as transaction_id,
        names[1] as top_names,
        names[2] as source_names,
        list_sort(names[3]) as before_names,
        list_sort(names[4]) as after_names,
        names[5] as transaction_names,
        {", ".join(fields)}
    from (
        select
            num,
            line,
            landed_id,
            known_doubt,
            json_transform(line, {literal(json.dumps(envelope))}) as event,
            json_keys(line, ['$', '$.source', '$.before', '$.after', '$.transaction']) as names,
            cast(json(line) as varchar) as bare,
            case when contains(line, ' ') then replace(line, ' ', '') else line end as compact
        from lines
        where line <> '' and (left(line, 1) <> ' ' or trim(line, ' ') <> '')
    )"""


def _is_text(value: str) -> str:
    return f"starts_with({value}, '\"')"


def _text(name: str) -> str:
    """The text of a JSON value, as a variant is cast to it: 12.0 is 12."""
    value = identifier(name)
    return (
        f"case when {_is_text(value)} then case when contains({value}, '\\') "
        f"then json_extract_string({value}, '$') else replace({value}, '\"', '') end "
        f"when ends_with({value}, '.0') then left({value}, -2) else {value} end"
    )


def _image(batch: Batch, side: str, every: str, keys: str) -> str:
    """The text of an image as Spark writes its map: by names of columns, values as texts."""

    def text(names: Iterable[str]) -> str:
        terms = []
        for place, name in enumerate(sorted(names)):
            value = f"{side}{batch.load.number(name)}"
            label = literal(f'{"," if place else "{"}"{name}":')
            terms.append(
                f"{label}, case when {value} is null then 'null' "
                f"when {_is_text(value)} then {value} "
                f"when ends_with({value}, '.0') then '\"' || left({value}, -2) || '\"' "
                f"else '\"' || {value} || '\"' end"
            )
        return f"concat({', '.join(terms)}, '}}')"

    whole = f"when {side}_names = {every} then {text(one.name for one in batch.load.columns)}"
    short = "" if keys == every else f" when {side}_names = {keys} then {text(batch.load.keys)}"
    return f"case {whole}{short} else '' end"


def is_ours_sql(tables: Sequence[str]) -> str:
    """Return a condition: an event is of one of the tables.

    Each is named with or without its database and schema; those of the event are `db`, `schema`,
    `table`, as JSON.
    """
    if not tables:
        return "true"
    parts = {name: _text(name) for name in ("db", "schema", "table")}
    named = (("table",), ("schema", "table"), ("db", "table"), ("db", "schema", "table"))
    wanted = ", ".join(literal(name) for name in tables)
    terms = [
        f"lower(concat_ws('.', {', '.join(parts[part] for part in chosen)})) in ({wanted})"
        for chosen in named
    ]
    return f"({' or '.join(terms)})"


def _doubt(batch: Batch, every: str, keys: str) -> str:
    """Why a line may be read otherwise, or is no event that the engine knows; the first holds."""
    numbers = range(len(batch.load.columns))
    whole = f"{every}, {keys}"
    snapshots = ", ".join(literal(json.dumps(mark)) for mark in _SNAPSHOTS)
    doubts = [
        ("compact = 'null'", None),
        (is_unsafe_sql("line"), SPARK_ALONE),
        ("not is_plain", SPARK_ALONE),
        (" or ".join(map(has_one_twice_sql, ("top_names", "source_names", "transaction_names"))),
         SPARK_ALONE),
        (f"list_has_any(top_names, {list_sql(_OTHER)})", _NO_ROW),
        ("op is null or op not in ('c', 'u', 'r', 'd')", _NO_ROW),
        ('"table" is null or connector is null', _NO_ROW),
        (f"transaction_names = [] and not contains(compact, '\"transaction\":null')", _NO_ROW),
        (" or ".join(_is_no_text(name) for name in (*_TEXTS, "transaction_id")), _NO_ROW),
        ("not is_ours", None),
        (f"snapshot not in ('true', 'false', {snapshots})", _NO_ROW),
        (" or ".join(_is_no_number(*one) for one in _TIMES.items()), _NO_ROW),
        (_has_no_place(), _NO_PLACE),
        (f"op <> 'd' and after_names is distinct from {every}", _OTHER_COLUMNS),
        (f"op <> 'd' and before_names <> [] and before_names not in ({whole})", _OTHER_COLUMNS),
        (f"op = 'd' and (before_names is null or before_names not in ({whole}))", _OTHER_COLUMNS),
        ("op = 'd' and after_names <> []", _OTHER_COLUMNS),
        *[
            (f"{side}_names = [] and contains(compact, '\"{side}\":{{}}')", _OTHER_COLUMNS)
            for side in ("before", "after")
        ],
        (" or ".join(_is_odd(f"before{one}") for one in numbers), SPARK_ALONE),
        (" or ".join(_is_odd(f"after{one}") for one in numbers), SPARK_ALONE),
        (" or ".join(f"contains(line, {literal(text)})" for text in batch.placeholders),
         _NOT_LOGGED),
    ]  # fmt: skip
    branches = "\n        ".join(
        f"when {condition} then {'null' if why is None else literal(why)}"
        for condition, why in doubts
    )
    return f"coalesce(known_doubt, case\n        {branches}\n    end)"


def is_unsafe_sql(line: str) -> str:
    """Return a condition on JSON: it is none, or too much of it, to one of the readers."""
    zeros = f"translate({line}, '123456789', '000000000')"
    # what is cheap to find out goes first
    digits = f"regexp_matches({line}, '[0-9]{{40}}') and contains({zeros}, repeat('0', 800))"
    brackets = " or ".join(
        f"strlen({line}) - strlen(replace({line}, '{bracket}', '')) > 400" for bracket in "{["
    )
    texts = literal(r'"(?:[^"\\]|\\.)*"')
    return (
        f"strlen({line}) > {LONGEST} or contains({line}, '\\u0000')\n"
        f"    or (strlen({line}) > 800 and ({brackets} or ({digits})))\n"
        f"    or (regexp_matches({line}, '[:,\\[]\\s*-?(nan|inf)', 'i')\n"
        f"        and regexp_matches(regexp_replace({line}, {texts}, '', 'g'), 'nan|inf', 'i'))"
    )


def has_one_twice_sql(names: str) -> str:
    """Return a condition on a list of names: one is there twice."""
    return f"list_unique({names}) <> len({names})"


def _is_no_text(name: str) -> str:
    return f"not {_is_text(identifier(name))}"


def _is_no_number(name: str, digits: int) -> str:
    return f"not regexp_full_match({name}, '0|-?[1-9][0-9]{{0,{digits - 1}}}')"


def _is_odd(value: str) -> str:
    """A value that is no text, no truth value and no number that is kept digit for digit."""
    return (
        f"case when {value} is null or {_is_text(value)} or {value} in ('true', 'false') "
        f"then false else {value} in ('-0', '-0.0') or not regexp_full_match({value}, "
        "'-?[0-9]{1,38}|-?[0-9]{1,17}\\.[0-9]{1,17}') end"
    )


def _has_no_place() -> str:
    def is_odd(name: str) -> str:
        value = identifier(name)
        return f"not ({_is_text(value)} or regexp_full_match({value}, '0|[1-9][0-9]{{0,18}}'))"

    branches = [
        f"when {literal(json.dumps(connector))} "
        f"then coalesce({' or '.join(map(is_odd, parts))}, false)"
        for connector, (_, parts) in _POSITIONS.items()
    ]
    return f"{is_odd('event_serial_no')} or case connector {' '.join(branches)} else true end"


def staged_sql(batch: Batch) -> str:
    """Return a query of the events, typed and hashed.

    Its columns: `num`, `op`, c0, c1, … (the image that counts), of keys k0, … (the one before),
    `kh`, `before_kh`, `rh`, `unproven`, the number of the first column whose value the engine
    cannot answer for, and what is known of the event.
    """
    load = batch.load
    values, doubts = [], []
    for number, column in enumerate(load.columns):
        is_key = column.name in load.keys
        read_as = (column.type, batch.encodings[number] if batch.encodings else "auto")
        values.append(f"{value_sql(f'f{number}', *read_as)} as c{number}")
        conditions = [unproven_sql(f"f{number}", f"c{number}", *read_as)]
        if is_key:
            values.append(f"{value_sql(f'b{number}', *read_as)} as k{number}")
            conditions.append(unproven_sql(f"b{number}", f"k{number}", *read_as))
        if column.is_required:
            conditions.append(f"c{number} is null" + ("" if is_key else " and op <> 'd'"))
        doubts += [f"when {condition} then {number}" for condition in conditions if condition]
    has_before = " or ".join(f"k{load.number(name)} is not null" for name in load.keys)
    before = f"case when op <> 'd' and ({has_before}) then {hash_sql(load, load.keys, 'k')} end"
    places = " ".join(
        f"when {literal(connector)} "
        f"then concat_ws('{between}', {', '.join(map(identifier, parts))})"
        for connector, (between, parts) in _POSITIONS.items()
    )
    return f"""select
    *,
    false as is_pair,
    md5(concat_ws('|', connector, name, if(landed_id is null or op = 'r',
        concat_ws('|', place, event_serial_no, op), concat_ws('|', 'landed', landed_id)), content))
        as event_id,
    concat_ws('|', place, case when op = 'r' then content end, name) as grp
from (
    select
        num, op, landed_id, content, connector, name, event_serial_no, db as database,
        concat_ws('.', schema, "table") as table_name,
        case connector {places} end as place,
        case when connector = 'postgresql' then "txId" else coalesce(gtid, transaction_id) end
            as transaction_id,
        coalesce(snapshot, 'false') <> 'false' as is_snapshot,
        case when op = 'r' then coalesce(snapshot, '') end as snapshot_mark,
        cast(make_timestamp(coalesce(cast(ts_us as bigint), cast(ts_ms as bigint) * 1000))
            as timestamp with time zone) as event_time,
        {", ".join(values)},
        {hash_sql(load, load.keys)} as kh,
        {before} as before_kh,
        {hash_sql(load, load.compared)} as rh,
        {f"case {' '.join(doubts)} end" if doubts else "cast(null as integer)"} as unproven
    from parsed
    where is_ours and op is not null
)"""


_PAIR = (
    "op = 'c' and connector <> 'oracle' "
    "and lag(op, 1, '') over (partition by grp order by num) = 'd'"
)


def has_pairs_sql() -> str:
    """Return a query with a row if a change of the key came as a delete and an insert."""
    return f"select 1 from staged qualify {_PAIR} limit 1"


def paired_sql(batch: Batch) -> str:
    """Return a query of the staged events, of which an insert has the key of its delete."""
    load = batch.load
    numbers = [load.number(name) for name in load.keys]
    keys = [
        f"case when is_pair then lag(k{number}) over place else k{number} end as k{number}"
        for number in numbers
    ]
    has_before = " or ".join(f"k{number} is not null" for number in numbers)
    before = f"case when op <> 'd' and ({has_before}) then {hash_sql(load, load.keys, 'k')} end"
    return f"""select * replace ({before} as before_kh)
from (
    select * replace ({", ".join(keys)})
    from (select * replace ({_PAIR} as is_pair) from staged)
    window place as (partition by grp order by num)
)"""


def tables_sql() -> str:
    """Return a query of one row: of how many tables the staged events are."""
    return "select count(distinct concat_ws('.', database, table_name)) from staged"


def again_sql(batch: Batch) -> str:
    """Return a query of one row: whether a snapshot was read where there may have been one."""
    if not batch.is_first:
        return "select coalesce(bool_or(is_snapshot), false) from usable"
    marks = list_sql(("first", "first_in_data_collection", "last", "last_in_data_collection"))
    mark = f"case when list_contains({marks}, snapshot_mark) then place end"
    return f"select count(distinct {mark}) > 1 from usable"


MOVED = "op <> 'd' and coalesce(before_kh <> kh, false)"
"""A condition on an event: its row has changed its key."""


def continued_sql(files: str, columns: Sequence[str], log: Target) -> str:
    """Return a query with a row if the log has moves of a transaction that goes on here."""
    operation, transaction = (
        identifier(log.fields[name][0]) for name in ("_source_operation", "_transaction_id")
    )
    return (
        f"select 1 from {files} where {operation} = 'MOVE_IN' "
        f"and {transaction} in (select transaction_id from usable) limit 1"
    )


def known_sql(files: str, columns: Sequence[str], log: Target) -> str:
    """Return a query of the identities of events that the log has, of those that are staged."""
    superseded = log.fields["_superseded_by"][0]
    in_force = f" and {identifier(superseded)} is null" if superseded in columns else ""
    event = identifier(log.fields["_event_id"][0])
    return (
        f"select distinct {event} as event_id from {files} "
        f"where {event} in (select event_id from staged){in_force}"
    )


def replayed_sql(batch: Batch, moves: bool) -> str:
    """Return a query of the events with what they did, over `usable` and the rows `base`.

    Its columns: `num`, `source_op`, `kh`, `op` (I, U, D, or N), c0, c1, … (of a row that is gone
    as it was), `rh`, `changed`, `moved_from` and what is known of the event.

    Args:
        batch: The batch.
        moves: Whether a row has changed its key.
    """
    load = batch.load
    numbers = range(len(load.columns))
    after = ", ".join(f"c{number} as after_c{number}" for number in numbers)
    before = ", ".join(f"was.c{number} as before_c{number}" for number in numbers)
    images = ", ".join(
        f"if(op = 'D', before_c{number}, after_c{number}) as c{number}" for number in numbers
    )
    return f"""select
    num, source_op, kh, op, {images},
    case when op = 'D' then before_rh when not is_gone then after_rh end as rh,
    {changed_sql(load)} as changed,
    event_id, event_time, transaction_id, place, moved_from
from (
    select *,
        case
            when is_other then 'N'
            when is_gone then if(is_there, 'D', 'N')
            when not is_there then 'I'
            when after_rh = before_rh then 'N'
            else 'U'
        end as op
    from (
        select *, {after}, rh as after_rh, {before}, was.rh as before_rh
        from ({_with_moves_sql(batch) if moves else _in_turn_sql(batch)})
    )
    where source_op <> 'base'
)"""


def _row(batch: Batch) -> str:
    fields = ", ".join(f"c{number} := c{number}" for number in range(len(batch.load.columns)))
    return f"struct_pack({fields}, rh := rh)"


def _effects_sql() -> str:
    operation = _operation("op")
    return f"""select * from base
        union all by name
        select * exclude (op), op = 'd' as is_gone,
            case when {MOVED} then 'MOVE_IN' else {operation} end as source_op,
            case when {MOVED} then before_kh end as moved_from
        from usable"""


def _in_turn_sql(batch: Batch) -> str:
    """Each event with the row that it meets, where no key changes: what came before it."""
    return f"""select *, false as is_other, coalesce(not lag(is_gone) over key, false) as is_there,
        lag({_row(batch)}) over key as was
    from (
        {_effects_sql()}
    )
    window key as (partition by kh order by num)"""


def _with_moves_sql(batch: Batch) -> str:
    """The same, where a row that moves departs from its old key.

    A row that moves to a key whose row is still there pushes it aside; the next departure from
    that key in the same transaction is that row's, and the newcomer stays.
    """
    load = batch.load
    departed = ", ".join(
        f"k{load.number(column.name)} as c{load.number(column.name)}"
        if column.name in load.keys
        else f"null as c{load.number(column.name)}"
        for column in load.columns
    )
    values = ", ".join(f"c{number}" for number in range(len(load.columns)))
    prior = "rows between unbounded preceding and 1 preceding"
    return f"""select *,
        coalesce(last_value(case when not is_other then not is_gone end ignore nulls)
            over (key {prior}), false) as is_there,
        last_value(case when not is_gone then {_row(batch)} end ignore nulls)
            over (key {prior}) as was
    from (
        select *,
            is_pair_out and coalesce(
                last_value(case when not is_pair_in and not is_pair_out then not is_gone end
                    ignore nulls) over (key {prior}), false) as is_other
        from (
            select *,
                source_op = 'MOVE_IN' and coalesce(lead(is_gone) over key, false)
                    and lead(transaction_id) over key is not distinct from transaction_id
                    as is_pair_in,
                is_gone and coalesce(lag(source_op) over key = 'MOVE_IN', false)
                    and lag(transaction_id) over key is not distinct from transaction_id
                    as is_pair_out
            from (
                {_effects_sql()}
                union all by name
                select * exclude (op, kh, rh, {values}),
                    before_kh as kh, true as is_gone, 'MOVE_OUT' as source_op, {departed}
                from usable where {MOVED} and not is_pair
            )
            window key as (partition by kh order by num)
        )
        window key as (partition by kh order by num)
    )
    window key as (partition by kh order by num)"""


def log_sql(batch: Batch, log: Target) -> str:
    """Return a query of the rows that the batch adds to the log, as its files have them."""
    load = batch.load
    values = {
        "_key_hash": "kh",
        "_row_hash": "rh",
        "_operation": "op",
        "_eff_start_date": f"date '{load.business_date}'",
        "_changed_columns": "changed",
        "_sequence_num": "num",
        "_event_time": "event_time",
        "_batch_id": f"cast({batch.batch_id} as bigint)",
        "_source_operation": "source_op",
        "_event_id": "event_id",
        "_transaction_id": "transaction_id",
        "_offset": "place",
        "_moved_from": "moved_from",
        "_commit_id": f"cast({load.commit_id} as bigint)",
    }
    return f"select {named_sql(load, log, values)}\nfrom replayed"


LOGGED = (
    *("_key_hash", "_row_hash", "_operation", "_eff_start_date", "_changed_columns"),
    *("_sequence_num", "_event_time", "_batch_id", "_source_operation", "_event_id"),
    *("_transaction_id", "_offset", "_moved_from", "_commit_id"),
)
"""What a file of the log has beside the columns of the rows, in its order."""


def latest_sql() -> str:
    """Return a query of the keys that the batch changed, each as it is then."""
    return (
        "select * from replayed where op in ('I', 'U', 'D') "
        "qualify row_number() over (partition by kh order by num desc) = 1"
    )


def current_sql(batch: Batch, current: Target) -> str:
    """Return a query of all rows of current after the batch, as its files have them."""
    load = batch.load
    numbers = ", ".join(f"c{number}" for number in range(len(load.columns)))
    values = {
        "_key_hash": "kh",
        "_row_hash": "rh",
        "_operation": "operation",
        "_eff_start_date": "since",
        "_sequence_num": "num",
    }
    kept = "" if load.soft_delete else " where op <> 'D'"
    return f"""select {named_sql(load, current, values)}
from (
    select {numbers}, kh, rh, operation, since, num from existing anti join latest using (kh)
    union all
    select {numbers}, kh, rh, op, date '{load.business_date}', num from latest{kept}
)"""


SHOWN = ("_key_hash", "_row_hash", "_operation", "_eff_start_date", "_sequence_num")


def staging_sql(batch: Batch, staging: Target) -> str:
    """Return a query of the events as they came, as the files of staging have them.

    Their batch is their partition, which is not in them.
    """
    values = {
        **{f"_before_{name}": f"k{batch.load.number(name)}" for name in batch.load.keys},
        "_key_hash": "kh",
        "_before_key_hash": "before_kh",
        "_landing_num": "num",
        "_sequence_num": "num",
        "_event_id": "event_id",
        "_operation": _operation("op"),
        "_event_time": "event_time",
        "_transaction_id": "transaction_id",
        "_is_snapshot": "is_snapshot",
        "_database": "database",
        "_table": "table_name",
        "_offset": "place",
        "_commit_id": f"cast({batch.load.commit_id} as bigint)",
    }
    return f"select {named_sql(batch.load, staging, values)}\nfrom usable"


def staged_names(batch: Batch) -> list[str]:
    """Return what a file of staging has beside the columns of the rows, in its order."""
    return [
        *[f"_before_{name}" for name in batch.load.keys],
        *("_key_hash", "_before_key_hash", "_landing_num", "_sequence_num", "_event_id"),
        *("_operation", "_event_time", "_transaction_id", "_is_snapshot", "_database", "_table"),
        *("_offset", "_commit_id"),
    ]


def _operation(letter: str) -> str:
    return (
        f"case {letter} when 'c' then 'INSERT' when 'r' then 'READ' when 'u' then 'UPDATE' "
        "when 'd' then 'DELETE' end"
    )
