"""Envelopes, and the identity by which one that comes again is recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

Kind = Literal["row", "ddl", "message", "begin", "end", "heartbeat", "snapshot"]
# the operation of our own envelopes that tell that a snapshot has read all of a table
END_OF_SNAPSHOT = "snapshot"
_KINDS: dict[Any, Kind] = {None: "ddl", "m": "message", END_OF_SNAPSHOT: "snapshot"}

# An image cannot hold this text: within a JSON string its quotes would be escaped.
_SOURCE = '"source":{"version":'
_HEARTBEAT = "__debezium-heartbeat."
# a part of the id of a table in a schema change: "shop"."orders"
_ID_PART = re.compile(r'"((?:[^"]|"")+)"')
# the END marker of PostgreSQL is known by transaction and position
_END_POSITION = re.compile(r"end:\d+:(\d+)")


@dataclass(frozen=True, slots=True)
class Event:
    """What landing has to know of an envelope.

    Attributes:
        kind: What it is.
        op: Debezium's operation: c u d r t m, or our own, `snapshot`, else "".
        table: `schema.table` as the database calls it, else "".
        snapshot: The mark of a row read by a snapshot (true, first, last, …), else "".
        transaction: The transaction that it says it is part of, else "".
        place: Where the source has it; None for what is never recognised again.
        count: How many events its transaction had (END markers).
        time: When the source wrote it, in milliseconds since 1970.
        prefix: The prefix of a logical message.
        position: Where PostgreSQL's log has it.
    """

    kind: Kind
    op: str = ""
    table: str = ""
    snapshot: str = ""
    transaction: str = ""
    place: str | None = None
    count: int = 0
    time: int | None = None
    prefix: str = ""
    position: int | None = None


def read_event(topic: str, value: str | None) -> Event:
    """Read an envelope: its own fields only, for the images make up most of it.

    Example:
        >>> read_event("shop.transaction", '{"status": "END", "id": "7:90", "event_count": 2}')
        ... # doctest: +ELLIPSIS
        Event(kind='end', ..., transaction='7:90', place='end:7:90', count=2, ...)
    """
    return _event(topic, {} if value is None else _fields(value))


def _event(topic: str, fields: Mapping[str, Any]) -> Event:
    if topic.startswith(_HEARTBEAT):
        return Event("heartbeat")
    if "status" in fields:
        return _marker(fields)
    source = fields.get("source")
    if not isinstance(source, Mapping):
        return Event("heartbeat")
    snapshot = source.get("snapshot")
    snapshot = "" if snapshot in (None, "false") else str(snapshot)
    op = fields.get("op")
    transaction = fields.get("transaction")
    message = fields.get("message")
    return Event(
        _KINDS.get(op, "row"),
        op=op or "",
        table=_table(source) if op is not None else _changed_table(fields, source),
        # changes that a running snapshot reads from the log are no rows of it
        snapshot=snapshot if op in ("r", None) else "",
        transaction=str(transaction["id"]) if isinstance(transaction, Mapping) else "",
        place=None if snapshot and op in ("r", None) else _place(source, op or "ddl"),
        time=source.get("ts_ms"),
        prefix=str(message.get("prefix", "")) if isinstance(message, Mapping) else "",
        position=source.get("lsn") if source.get("connector") == "postgresql" else None,
    )


def read_line(line: bytes) -> tuple[Any, Event]:
    """Read a landed line: its key, and what its envelope is.

    Example:
        >>> key, event = read_line(b'{"topic": "shop.public.t", "key": {"id": 1}, "value": null}')
        >>> key, event.kind
        ({'id': 1}, 'heartbeat')
    """
    content = orjson.loads(line)
    return content["key"], _event(content["topic"], _payload(content["value"]))


def _fields(value: str) -> Mapping[str, Any]:
    start = value.rfind(_SOURCE)
    if start > 0 and '"message":' not in value[start:] and value.endswith("}"):
        # …,"payload":{"before":…,"after":…,"source":{…},…}}
        end = -1 if value.startswith('{"schema"') else len(value)
        try:
            fields: Mapping[str, Any] = orjson.loads("{" + value[start:end])
            if "op" in fields:
                return fields
        except orjson.JSONDecodeError:
            pass
    return _payload(orjson.loads(value))


def _payload(value: Any) -> Mapping[str, Any]:
    """The envelope itself, without its schema."""
    if isinstance(value, Mapping) and "schema" in value and "payload" in value:
        value = value["payload"]
    return value if isinstance(value, Mapping) else {}


def _marker(fields: Mapping[str, Any]) -> Event:
    transaction = str(fields["id"])
    if fields["status"] == "BEGIN":
        return Event("begin", transaction=transaction)
    return Event(
        "end",
        transaction=transaction,
        place=f"end:{transaction}",
        count=fields.get("event_count") or 0,
        time=fields.get("ts_ms"),
    )


def _table(source: Mapping[str, Any]) -> str:
    parts = [source.get("schema") or source.get("db"), source.get("table")]
    return ".".join(str(part) for part in parts if part)


def _changed_table(fields: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    """The table of a schema change.

    If a statement is about several, such as DROP TABLE a, b, each has a message of its own, whose
    `source` names all of them.
    """
    for change in fields.get("tableChanges") or ():
        parts = _ID_PART.findall(str(change.get("id")))
        if parts:
            return ".".join(part.replace('""', '"') for part in parts[-2:])
    return _table(source)


def _place(source: Mapping[str, Any], op: str) -> str:
    connector = source.get("connector")
    if connector == "postgresql":
        parts = [source.get("txId"), source.get("lsn")]
    elif connector in ("mysql", "mariadb"):
        # names of log files start anew after RESET MASTER, transaction ids do not
        server = source.get("gtid") or source.get("server_id")
        # the row of a schema change is that of whatever came before it
        row = None if op == "ddl" else source.get("row")
        parts = [server, source.get("file"), source.get("pos"), row]
    elif connector == "sqlserver":
        parts = [source.get("commit_lsn"), source.get("change_lsn"), source.get("event_serial_no")]
    else:
        parts = [source.get("scn"), source.get("txId")]
    return ":".join("" if part is None else str(part) for part in [*parts, op])


class Identities:
    """Gives events their identity: the place in the source and the ordinal at that place.

    A place is not unique: a COPY of PostgreSQL has hundreds of rows at one log position. Ordinals
    are stable, because what comes again begins at the start of a transaction.

    Example:
        >>> identities = Identities()
        >>> event = Event("row", op="c", place="7:90:c")
        >>> identities.of(event), identities.of(event)
        ('7:90:c', '7:90:c:1')
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, event: Event) -> str | None:
        """Return the identity of an event, None if it has none."""
        if event.place is None:
            return None
        ordinal = self._seen.get(event.place, 0)
        self._seen[event.place] = ordinal + 1
        return f"{event.place}:{ordinal}" if ordinal else event.place

    def start_transaction(self) -> None:
        """Count anew: places of another transaction are other places."""
        self._seen.clear()


def end_position(identity: str) -> int | None:
    """Return the log position of an END marker of PostgreSQL.

    Example:
        >>> end_position("end:752:22649160"), end_position("752:22648936:c")
        (22649160, None)
    """
    match = _END_POSITION.fullmatch(identity)
    return int(match[1]) if match else None
