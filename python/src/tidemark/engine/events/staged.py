"""The events of a batch before they are replayed, in DuckDB's SQL: typed, hashed, each once.

    parsed » staged_sql » staged » known_sql » usable

Columns go by numbers, as in tidemark.engine.sql.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.engine.events.load import Batch
from tidemark.engine.events.parsed import POSITIONS, operation_sql
from tidemark.engine.events.types import unproven_sql, value_sql
from tidemark.engine.load import Target
from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.engine.sql import hash_sql


def staged_sql(batch: Batch) -> str:
    """Return a query of the events, typed and hashed.

    Its columns: `num`, which orders the events, `landing_num`, `op`, c0, c1, … (the image that
    counts), of keys k0, … (the one before), `kh`, `before_kh`, `rh`, `unproven`, the number of the
    first column whose value the engine cannot answer for (-1: the time of the event), and what is
    known of the event.
    """
    load = batch.load
    has_before = " or ".join(f"k{load.number(name)} is not null" for name in load.keys)
    values, doubts = [], []
    for number, column in enumerate(load.columns):
        is_key = column.name in load.keys
        read_as = (column.type, batch.encodings[number] if batch.encodings else "auto")
        values.append(f"{value_sql(f'f{number}', *read_as)} as c{number}")
        conditions = [unproven_sql(f"f{number}", f"c{number}", *read_as)]
        if is_key:
            values.append(f"{value_sql(f'b{number}', *read_as)} as k{number}")
            conditions.append(unproven_sql(f"b{number}", f"k{number}", *read_as))
            if len(load.keys) > 1 and column.is_required:
                # it is that of the image after
                conditions.append(f"op <> 'd' and k{number} is null and ({has_before})")
        if column.is_required:
            is_given = f" and not {left_out_sql(column.name)}" if batch.is_canonical else ""
            conditions.append(
                f"c{number} is null" + ("" if is_key else f" and op <> 'd'{is_given}")
            )
        doubts += [f"when {condition} then {number}" for condition in conditions if condition]
    before = f"case when op <> 'd' and ({has_before}) then {hash_sql(load, load.keys, 'k')} end"
    carried, identity, group = (
        (CANONICAL_FIELDS_SQL, identity_of_canonical(), "cast(null as varchar)")
        if batch.is_canonical
        else (debezium_fields_sql(), identity_of_debezium(batch.by_server), GROUP_OF_DEBEZIUM)
    )
    if batch.is_canonical:
        doubts.append(f"when {unproven_sql('time_text', 'event_time', 'timestamp')} then -1")
    # what a snapshot brings it has read; an event is known by what it is called
    read = " replace (case when is_snapshot and op in ('c', 'p') then 'r' else op end as op)"
    return f"""select
    *{read if batch.is_canonical else ""},
    false as is_pair,
    md5(concat_ws('|', {identity}, content)) as event_id,
    {group} as grp
from (
    select
        op, landed_id, content,
        {carried},
        {", ".join(values)},
        {hash_sql(load, load.keys)} as kh,
        {before} as before_kh,
        {hash_sql(load, load.compared)} as rh,
        {f"case {' '.join(doubts)} end" if doubts else "cast(null as integer)"} as unproven
    from parsed
    where is_ours and op is not null
)"""


def debezium_fields_sql() -> str:
    """Return what an envelope tells of its event."""
    places = " ".join(
        f"when {literal(connector)} "
        f"then concat_ws('{between}', {', '.join(map(identifier, parts))})"
        for connector, (between, parts) in POSITIONS.items()
    )
    return f"""num, num as landing_num, connector, name, event_serial_no, db as database,
        concat_ws('.', schema, "table") as table_name,
        case connector {places} end as place,
        case when connector = 'postgresql' then "txId" else coalesce(gtid, transaction_id) end
            as transaction_id,
        coalesce(gtid, server_id) as server,
        coalesce(snapshot, 'false') <> 'false' as is_snapshot,
        case when op = 'r' then coalesce(snapshot, '') end as snapshot_mark,
        cast(make_timestamp(coalesce(cast(ts_us as bigint), cast(ts_ms as bigint) * 1000))
            as timestamp with time zone) as event_time"""


GROUP_OF_DEBEZIUM = "concat_ws('|', place, case when op = 'r' then content end, name)"
"""Events of one place in the source: those of a snapshot, which share one, by their content."""
_SERVER = "case when connector in ('mysql', 'mariadb') and op <> 'r' then server end"

CANONICAL_FIELDS_SQL = f"""unsupplied, coalesce(cast(sequence_num as bigint), num) as num,
        num as landing_num, sequence_num is not null as is_numbered, db as database,
        "table" as table_name, "offset" as place, transaction_id,
        coalesce(is_snapshot = 'true', false) as is_snapshot,
        cast(null as varchar) as snapshot_mark,
        time_text, {value_sql("time_text", "timestamp")} as event_time"""


def identity_of_debezium(by_server: bool) -> str:
    """Return what an envelope is known by, with its content.

    Args:
        by_server: Whether a change of MySQL or MariaDB is known by its GTID or server, too.
    """
    server = f", {_SERVER}" if by_server else ""
    return f"""concat_ws('|', connector, name, if(landed_id is null or op = 'r',
        concat_ws('|', place, event_serial_no, op{server}), concat_ws('|', 'landed', landed_id)))"""


def identity_of_canonical(by_content: bool = False) -> str:
    """Return what a canonical event is known by, with its content.

    Args:
        by_content: Whether one without number and offset is known by its content alone.
    """
    operation = operation_sql("op")
    is_known = "true" if by_content else "event_time is not null or transaction_id is not null"
    return f"""case
        when is_numbered then concat_ws('|', 'num', database, table_name, num, {operation})
        when place is not null
            then concat_ws('|', 'offset', database, table_name, place, {operation})
        when {is_known} then 'content'
        else concat('line|', landing_num) end"""


def left_out_sql(name: str) -> str:
    """Return a condition on an event: it leaves out a column, which keeps its value."""
    return f"coalesce(list_contains(unsupplied, {literal(name)}), false)"


def carried_sql() -> str:
    """Return a query of the columns that usable events leave out."""
    return "select distinct unnest(unsupplied) from usable"


def is_partial_move_sql() -> str:
    """Return a query of one row: whether an event that changes its key leaves out a column."""
    return f"select coalesce(bool_or(unsupplied is not null and {MOVED}), false) from usable"


def is_tied_sql() -> str:
    """Return a query of one row: whether two usable events have one number."""
    return "select count(distinct num) < count(*) from usable"


def possible_sql(batch: Batch) -> str:
    """Return a query of the files of the log (`bounded`) that may have an event that is staged."""
    if not batch.is_canonical:
        return (
            "select path from bounded where least is null or greatest is null "
            "or exists (select 1 from staged where place >= least and place <= greatest)"
        )
    return """select path
from bounded, (
    select
        min(case when is_numbered then num end) as low,
        max(case when is_numbered then num end) as high,
        min(case when not is_numbered then place end) as early,
        max(case when not is_numbered then place end) as late,
        bool_or(not is_numbered and place is null
            and (event_time is not null or transaction_id is not null)) as by_content
    from staged
)
where by_content
    or (low is not null and coalesce(first <= high and last >= low, true))
    or (early is not null and coalesce(least <= late and greatest >= early, true))"""


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
    """Return a query of the tables that the staged events are of: their names; '' of none."""
    return "select distinct concat_ws('.', database, table_name) from staged"


def again_sql(batch: Batch) -> str:
    """Return a query of one row: whether a snapshot was read where there may have been one."""
    if not batch.is_first:
        return "select coalesce(bool_or(is_snapshot), false) from usable"
    if batch.is_canonical:
        return (
            "select count(distinct case when is_snapshot then place end) > 1 or coalesce(min(case "
            "when not is_snapshot then num end) < max(case when is_snapshot then num end), false) "
            "from usable"
        )
    marks = list_sql(("first", "first_in_data_collection", "last", "last_in_data_collection"))
    mark = f"case when list_contains({marks}, snapshot_mark) then place end"
    return f"select count(distinct {mark}) > 1 from usable"


MOVED = "op <> 'd' and coalesce(before_kh <> kh, false)"
"""A condition on an event: its row has changed its key."""


def continued_sql(files: str, log: Target) -> str:
    """Return a query with a row if the log has moves of a transaction that goes on here.

    Events without transaction are of one: a departure goes on with it where a row has moved to its
    key while there was another.
    """
    names = ("_source_operation", "_transaction_id", "_operation", "_key_hash")
    operation, transaction, effect, key = (identifier(log.fields[name][0]) for name in names)
    return (
        f"select 1 from {files} where {operation} = 'MOVE_IN' "
        f"and ({transaction} in (select transaction_id from usable) or ({transaction} is null "
        f"and {effect} <> 'I' and {key} in (select case when op = 'd' then kh else before_kh end "
        f"from usable where transaction_id is null and (op = 'd' or {MOVED})))) limit 1"
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
