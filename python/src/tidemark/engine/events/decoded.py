"""The events of a batch as the macros stage them, in DuckDB's SQL: typed, nothing judged yet.

    parsed » decoded_sql » decoded ─► staged_events_sql(), by either engine

What a line says is read here; what becomes of it is the macros' matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.engine.events.load import Batch
from tidemark.engine.events.parsed import operation_sql
from tidemark.engine.events.staged import (
    CANONICAL_FIELDS_SQL,
    GROUP_OF_DEBEZIUM,
    debezium_fields_sql,
    identity_of_canonical,
    identity_of_debezium,
)
from tidemark.engine.events.types import no_value_sql, unproven_sql, value_sql
from tidemark.engine.quoted import identifier, literal
from tidemark.engine.types import kind_of

LACKS, MADE_UP, BEFORE = "_tidemark_lacks_", "_tidemark_made_up_", "_before_"
_NOTHING = (
    r"0*(E[+-]?[0-9]+)?|0*[.]0*|false|AA==|"
    r'[{]("scale":0,"value":"AA=="|"srid":.*)?[}]|'
    r"\[\]|1970-01-01.*|00:00:00.*|[0-]+|P[T0YMDHS]*"
)
"""What Debezium makes up for a column that is NOT NULL and was not logged."""
_EPOCH = r"0|1970-01-01([T ]00:00:00[.0]*)?Z?"
_MOVING = ("postgresql", "mysql", "mariadb", "sqlserver")
"""Connectors by which a change of the key comes as a delete and an insert."""
_TEXT, _NUMBERS = "cast(null as varchar)", "cast(null as bigint[])"


@dataclass(frozen=True)
class Asked:
    """What the macros ask of events beside their values.

    Args:
        is_sequenced: Whether columns order the events.
        ordering: Which do; of those Debezium may have made a value up.
        by_content: Whether a canonical event that comes again is known by its content alone.
        takes_rejects: Whether a value that is none makes a reject; else Spark is asked.
    """

    is_sequenced: bool
    ordering: tuple[str, ...]
    by_content: bool
    takes_rejects: bool


def asked_of(cfg: Mapping[str, Any], roles: Mapping[str, Any], source: Mapping[str, Any]) -> Asked:
    """Return what is asked by the settings of an entity and the roles of its columns."""
    return Asked(
        is_sequenced=bool(cfg["sequence_by"]),
        ordering=tuple(str(one["name"]) for one in roles["columns"] if one.get("orders")),
        by_content=bool(source["by_content"]),
        # what was opened has no line any more, and what stops a load tells more than its reason
        takes_rejects=cfg["on_reject"] != "fail" and not source["prefiltered"],
    )


def decoded_columns(batch: Batch, asked: Asked) -> tuple[tuple[str, str], ...]:
    """Return the names and types of the columns of decoded_sql() that are kept."""
    types = {column.name: kind_of(column.type).duck for column in batch.load.columns}
    others = [name for name in types if name not in batch.load.keys]
    return (
        *types.items(),
        *((BEFORE + name, types[name]) for name in batch.befores),
        *((LACKS + name, "BOOLEAN") for name in others),
        *((MADE_UP + name, "BOOLEAN") for name in asked.ordering),
        *TOLD,
    )


TOLD = (
    ("_has_before", "BOOLEAN"),
    ("_kind", "VARCHAR"),
    ("_problem", "VARCHAR"),
    ("_tidemark_reason", "VARCHAR"),
    ("_operation", "VARCHAR"),
    ("_sequence_num", "BIGINT"),
    ("_landing_num", "BIGINT"),
    ("_tidemark_line_num", "BIGINT"),
    ("_supplied_num", "BIGINT"),
    ("_event_time", "TIMESTAMP WITH TIME ZONE"),
    ("_transaction_id", "VARCHAR"),
    ("_total_order", "BIGINT"),
    ("_is_snapshot", "BOOLEAN"),
    ("_snapshot_mark", "VARCHAR"),
    ("_database", "VARCHAR"),
    ("_table", "VARCHAR"),
    ("_offset", "VARCHAR"),
    ("_position", "BIGINT[]"),
    ("_group", "VARCHAR"),
    ("_identity", "VARCHAR"),
    ("_content", "VARCHAR"),
    ("_delivery_hash", "VARCHAR"),
    ("_may_be_move", "BOOLEAN"),
    ("_is_captured", "BOOLEAN"),
    ("_is_key_image", "BOOLEAN"),
    ("_raw_payload", "VARCHAR"),
)
"""What is known of an event, whatever its columns are."""


def decoded_sql(batch: Batch, asked: Asked) -> str:
    """Return a query of the events: decoded_columns(), and `unproven`.

    That is the number of the first column whose value the engine cannot answer for; -1 of the time
    of the event, -2 of its place.
    """
    load = batch.load
    values, shown, doubts = [], [], []
    for number, column in enumerate(load.columns):
        read_as = (column.type, batch.encodings[number] if batch.encodings else "auto")
        sides = ["f", "b"] if column.name in batch.befores else ["f"]
        for side, kept in zip(sides, ("c", "k"), strict=False):
            value = value_sql(f"{side}{number}", *read_as)
            none = no_value_sql(f"{side}{number}", *read_as) if asked.takes_rejects else None
            if none:
                # a text with a zone of its own would change how DuckDB reads the times behind it
                value = f"case when not coalesce({none}, false) then {value} end"
            values.append(f"{value} as {kept}{number}")
            if condition := unproven_sql(f"{side}{number}", f"{kept}{number}", *read_as):
                known = f" and not coalesce({none}, false)" if none else ""
                doubts.append(f"when ({condition}){known} then {number}")
        if column.is_required and batch.prefiltered:
            # a reject, whose line is not there
            of_rows = "" if column.name in load.keys else " and op <> 'd'"
            doubts.append(f"when c{number} is null{of_rows} then {number}")
        if column.name in asked.ordering:
            values.append(f"{_made_up(number, column.type)} as made_up{number}")
            shown.append(f"if(made_up{number}, null, c{number}) as {identifier(column.name)}")
            shown.append(f"made_up{number} as {identifier(MADE_UP + column.name)}")
        else:
            shown.append(f"c{number} as {identifier(column.name)}")
        if column.name in batch.befores:
            shown.append(f"k{number} as {identifier(BEFORE + column.name)}")
        if column.name not in load.keys:
            shown.append(f"{_lacks(batch, number)} as {identifier(LACKS + column.name)}")
    if batch.is_canonical:
        carried = f"{CANONICAL_FIELDS_SQL}, lacks"
        doubts.append(f"when {unproven_sql('time_text', 'event_time', 'timestamp')} then -1")
    else:
        carried = (
            f"{debezium_fields_sql()}, is_whole, delivered_us, total_order, {_position()} as spot"
        )
        if asked.is_sequenced:
            doubts.append("when spot is null or list_count(spot) < len(spot) then -2")
    doubt = f"case {' '.join(doubts)} end" if doubts else "cast(null as integer)"
    of_source = _canonical_terms(asked) if batch.is_canonical else _debezium_terms(batch, asked)
    raw = "raw" if not batch.prefiltered else _TEXT
    return f"""select
    {", ".join(shown)},
    coalesce(has_before, false) as _has_before,
    'row' as _kind,
    {_TEXT} as _problem,
    reason as _tidemark_reason,
    num as _sequence_num,
    landing_num as _landing_num,
    landing_num as _tidemark_line_num,
    event_time as _event_time,
    transaction_id as _transaction_id,
    is_snapshot as _is_snapshot,
    database as _database,
    table_name as _table,
    place as _offset,
    content as _content,
    landed_id is not null as _is_captured,
    {raw} as _raw_payload,
    {of_source},
    unproven
from (
    select
        op, landed_id, content, has_before, raw,
        {carried},
        {_is_key_image(batch) if asked.ordering else "cast(null as boolean)"} as is_key_image,
        {", ".join(values)},
        {_reason(batch) if asked.takes_rejects else _TEXT} as reason,
        {doubt} as unproven
    from parsed
    where is_ours and op is not null
)"""


def _reason(batch: Batch) -> str:
    """Why an event is a reject, by its values: the first that is none, those of the key before."""
    load, branches = batch.load, []
    keys = [load.number(name) for name in load.keys]
    numbers = [*keys, *(one for one in range(len(load.columns)) if one not in keys)]
    for side, ours in (("f", numbers), ("b", [load.number(name) for name in batch.befores])):
        for number in ours:
            column = load.columns[number]
            encoding = batch.encodings[number] if batch.encodings else "auto"
            none = no_value_sql(f"{side}{number}", column.type, encoding)
            if none is None:
                continue
            # the key of a row that is gone counts
            counts = side == "b" or number in keys or not keys
            of_rows = "" if counts else "op <> 'd' and "
            shown = BEFORE + column.name if side == "b" else column.name
            branches.append(f"when {of_rows}{none} then {literal(f'cast_failed: {shown}')}")
    return f"case {' '.join(branches)} end" if branches else _TEXT


def _lacks(batch: Batch, number: int) -> str:
    name = batch.load.columns[number].name
    if batch.is_canonical:
        return f"coalesce(list_contains(lacks, '{name}'), false)"
    return "false" if name in batch.befores else "not is_whole"


def _debezium_terms(batch: Batch, asked: Asked) -> str:
    delivery = _TEXT
    if not batch.load.keys and not batch.prefiltered:
        delivery = "if(coalesce(delivered_us, total_order) is null, null, md5(raw))"
    return f"""{operation_sql("op")} as _operation,
    cast(null as bigint) as _supplied_num,
    cast(total_order as bigint) as _total_order,
    snapshot_mark as _snapshot_mark,
    {"spot" if asked.is_sequenced else _NUMBERS} as _position,
    {GROUP_OF_DEBEZIUM} as _group,
    {identity_of_debezium(batch.by_server)} as _identity,
    {delivery} as _delivery_hash,
    op = 'c' and connector in {_MOVING} as _may_be_move,
    is_key_image as _is_key_image"""


def _canonical_terms(asked: Asked) -> str:
    identity = identity_of_canonical(asked.by_content)
    return f"""if(is_snapshot and op in ('c', 'p'), 'READ', {operation_sql("op")}) as _operation,
    if(is_numbered, num, null) as _supplied_num,
    cast(null as bigint) as _total_order,
    if(is_snapshot, 'true', null) as _snapshot_mark,
    {_NUMBERS} as _position,
    concat_ws('|', {identity}, content) as _group,
    {identity} as _identity,
    {_TEXT} as _delivery_hash,
    false as _may_be_move,
    cast(null as boolean) as _is_key_image"""


def _position() -> str:
    """Where in its source an event stands, as numbers; NULL where texts tell it."""
    number = r"regexp_extract(file, '([0-9]+)$', 1)"

    def numbers(*texts: str) -> str:
        return f"[{', '.join(f'try_cast({text} as bigint)' for text in texts)}]"

    return (
        f"case when connector = 'postgresql' then {numbers('lsn')} "
        f"when connector in ('mysql', 'mariadb') then {numbers(number, 'pos', 'row')} "
        f"when connector = 'oracle' then {numbers('scn', 'ssn')} end"
    )


def _is_key_image(batch: Batch) -> str:
    """Whether a delete of PostgreSQL tells no more than the key; NULL of any other event."""
    others = [
        number
        for number, column in enumerate(batch.load.columns)
        if column.name not in batch.load.keys
    ]
    nothing = " and ".join(
        f"(f{number} is null or regexp_full_match(f{number}, '{_NOTHING}'))" for number in others
    )
    is_one = "op = 'd' and connector = 'postgresql' and has_before"
    return f"case when {is_one} then {nothing or 'true'} end"


def _made_up(number: int, kind: str) -> str:
    if kind != "date" and not kind.startswith("timestamp"):
        return "coalesce(is_key_image, false)"
    return (
        f"coalesce(is_key_image or is_key_image is not null and "
        f"regexp_full_match(f{number}, '{_EPOCH}'), false)"
    )
