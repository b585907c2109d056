"""What Debezium sends besides changes of rows, snapshots over an existing target, and the source blocks of other databases."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from .event_entities import EventEntity
from .test_debezium import land

pytestmark = pytest.mark.turn(0)

_positions = itertools.count(1000, 10)
# rejects for a column's value
COLUMN = "_reject_reason like '%: _' or _reject_reason like '%: big'"
UNAVAILABLE = "__debezium_unavailable_value"


def event(op: str, table: str, before: Any = None, after: Any = None, **source: Any) -> str:
    """An envelope of PostgreSQL, or with `connector` of another database."""
    position = next(_positions)
    block = {
        "connector": "postgresql",
        "name": "pg",
        "ts_ms": 1772600000000 + position,
        "snapshot": "false",
        "db": "shop",
        "schema": "public",
        "table": table,
        "txId": position,
        "lsn": position,
        **source,
    }
    envelope = {"before": before, "after": after, "source": block, "op": op, "ts_ms": position}
    return json.dumps({"topic": f"pg.public.{table}", "key": None, "value": envelope})


def with_schema(message: str, kind: str) -> str:
    """The same message with an inline schema, of a table (id, at) whose time is of this Kafka Connect type."""
    at = {"field": "at", "type": "int64", "name": kind}
    return with_columns(message, {"field": "id", "type": "int32"}, at)


def with_columns(message: str, *columns: dict[str, Any]) -> str:
    """The same message with an inline schema of these columns."""
    images = [
        {"field": name, "type": "struct", "fields": columns, "optional": True}
        for name in ("before", "after")
    ]
    event = json.loads(message)
    value = {"schema": {"type": "struct", "fields": images}, "payload": event["value"]}
    return json.dumps({**event, "value": value})


def snapshot(table: str, rows: list[dict[str, Any]], position: int) -> list[str]:
    """A snapshot's rows, all at one position."""
    marks = ["first_in_data_collection", *["true"] * len(rows)][: len(rows)]
    marks[-1] = "last_in_data_collection"
    return [
        event("r", table, after=row, snapshot=mark, txId=position, lsn=position, ts_us=position * 1000 + number)
        for number, (row, mark) in enumerate(zip(rows, marks, strict=True))
    ]  # fmt: skip


def end_of_snapshot(table: str, position: int) -> str:
    """What capture lands of each table when a snapshot is over."""
    line = event("snapshot", table, snapshot="last", txId=position, lsn=position)
    return json.dumps({**json.loads(line), "_id": f"r:{position}:{table}"})


NOISE = [
    json.dumps({"topic": "__debezium-heartbeat.pg", "key": {"serverName": "pg"}, "value": {"ts_ms": 1}}),
    json.dumps({"topic": "pg.transaction", "key": {"id": "7"}, "value": {"status": "BEGIN", "id": "7"}}),
    json.dumps({"topic": "pg.public.items", "key": {"id": 1}, "value": None}),
    json.dumps({"topic": "pg.public.items", "key": {"id": 1}, "value": {"schema": {}, "payload": None}}),
    json.dumps({"topic": "pg.message", "key": {"prefix": "x"}, "value": {"op": "m", "ts_ms": 1, "message": {"content": "aGk="}}}),
    json.dumps({"source": {"connector": "mysql", "db": "shop"}, "databaseName": "shop", "ddl": "DROP TABLE IF EXISTS `shop`.`items`",
                "tableChanges": [{"type": "DROP", "id": '"shop"."items"', "table": None}]}),
    "null",
    "",
]  # fmt: skip


@pytest.fixture(scope="module")
def entities(module_project: Any) -> Iterator[dict[str, EventEntity]]:
    project = module_project

    def entity(name: str, columns: dict[str, str], key: Any, **settings: Any) -> EventEntity:
        return EventEntity(
            project,
            name,
            columns,
            key,
            format="debezium",
            location=f"{project.root}/landing/pg",
            on_reject="quarantine",
            **settings,
        )

    items = {"id": "int", "name": "string"}
    made = {
        "items": entity("items", items, "id", table="public.items"),
        "copies": entity("copies", {"v": "string"}, None, table="public.copies"),
        "mssql": entity(
            "mssql", {"id": "int", "price": "decimal(10,2)", "at": "timestamp_ntz"}, "id",
            table="shop.dbo.prices", encodings={"price": "decimal_bytes:2", "at": "nanos"},
        ),
        "oracle": entity("oracle", {"ID": "int", "NAME": "string"}, "ID", table="FREE.SHOP.ITEMS"),
        "clocked": entity("clocked", {"id": "int"}, "id", table="public.clocked"),
        "moved": entity("moved", {"id": "int", "big": "string"}, "id", table="public.moved"),
        "bytes": entity("bytes", {"id": "int", "b": "binary"}, "id", table="public.bytes"),
    }  # fmt: skip
    # a column is left out, and taken in by the second run, before which the source adds another one
    taken_in = EventEntity(
        project, "taken_in", {"id": "int"}, format="debezium", table="public.taken_in"
    )
    taken_in.settings["columns"] = {"exclude": ["status"]}
    taken_in.write()
    made["taken_in"] = taken_in
    key, status, level = (
        {"field": "id", "type": "int32"},
        {"field": "status", "type": "string", "default": "new"},
        {"field": "level", "type": "int32", "default": 5},
    )
    taken_in.land(
        [
            with_columns(event("c", "taken_in", after={"id": 1, "status": "paid"}), key, status),
            with_columns(event("c", "taken_in", after={"id": 2, "status": "void"}), key, status),
        ]
    )
    # what a second snapshot finds empty, and snapshots that two runs have parts of
    gone = {
        "emptied": EventEntity(project, "emptied", items, "id", format="debezium", table="public.emptied"),
        "spread": EventEntity(project, "spread", {"v": "string"}, None, format="debezium", table=None),
        "resumed": EventEntity(project, "resumed", items, "id", format="debezium", table=None),
    }  # fmt: skip
    made |= gone
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    gone["emptied"].land(
        [*snapshot("emptied", rows, 500), event("c", "emptied", after={"id": 3, "name": "c"})]
    )
    spread = snapshot("spread", [{"v": text} for text in "xxyz"], 500)
    gone["spread"].land(spread[:3])
    known = [{"id": key, "name": text} for key, text in enumerate("abc", 1)]
    read = [event("r", "resumed", after=row, snapshot="true", txId=500, lsn=500) for row in known]
    gone["resumed"].land([*(event("c", "resumed", after=row) for row in known), read[0]])
    mssql = {"connector": "sqlserver", "schema": "dbo", "txId": None, "lsn": None}
    oracle = {"connector": "oracle", "db": "FREE", "schema": "SHOP", "lsn": None}
    land(
        project,
        "pg",
        "000001.jsonl",
        [
            *snapshot("items", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}], 500),
            *snapshot("copies", [{"v": "x"}, {"v": "x"}, {"v": "y"}], 500),
            *NOISE,
            "\t" + event("c", "items", after={"id": 4, "name": "d"}),
            # a key that changes, told by the before image; a delete that has only its key
            event("u", "items", {"id": 4, "name": "d"}, {"id": 5, "name": "d"}),
            json.dumps({**json.loads(event("d", "items")), "key": {"schema": {}, "payload": {"id": 1}}}),
            event("x", "items", after={"id": 9}),
            event("u", "items"),
            "{broken",
            '["not an event"]',
            event("c", "prices", after={"id": 1, "price": "AIAA", "at": 1709210096123456789},
                  commit_lsn="00000027:00000ac0:0002", change_lsn="00000027:00000ac0:0003", event_serial_no=1, **mssql),
            event("u", "prices", {"id": 1}, {"id": 1, "price": "/w==", "at": 1709210096123456789},
                  commit_lsn="00000027:00000ac0:0002", change_lsn="00000027:00000ac0:0003", event_serial_no=2, **mssql),
            event("c", "ITEMS", after={"ID": 1, "NAME": "o"}, scn="2868546", txId="0a0011", **oracle),
            event("d", "ITEMS", {"ID": 1, "NAME": "o"}, scn="2868546", txId="0a0011", **oracle),
            event("c", "ITEMS", after={"ID": 2, "NAME": "p"}, scn="2868547", txId="0a0011", **oracle),
            with_schema(event("c", "clocked", after={"id": 1, "at": 1709210096123}), "io.debezium.time.Timestamp"),
            *(event("c", "moved", after={"id": key, "big": f"of {key}"}) for key in (1, 5, 20, 21, 22)),
            # keys of messages that are no object
            *(json.dumps({**json.loads(event("d", "moved")), "key": key}) for key in (20, "21", '{"id": 22}')),
            # two changes of a key of which the inserts come in the next run
            event("d", "moved", {"id": 1}, lsn=5000, txId=5000),
            event("d", "moved", {"id": 5}, lsn=6000, txId=6000),
            *(event("c", "bytes", after={"id": key, "b": text}) for key, text in enumerate(["AAAA", "AP8=", "00ff", "", "?"])),
            with_schema(event("c", "clocked", after={"id": 2, "at": 1709210096123456}), "io.debezium.time.MicroTimestamp"),
        ],
    )  # fmt: skip
    often = {name: made[name] for name in ("items", "copies", "moved", "taken_in", *gone)}
    project.dbt("run", "--select", *often)
    taken_in.settings["columns"] = True
    taken_in.write()
    taken_in.land(
        [with_columns(event("c", "taken_in", after={"id": 3, "status": "paid", "level": 7}), key, status, level)]
    )  # fmt: skip
    gone["emptied"].land(
        [end_of_snapshot("emptied", 900), event("c", "emptied", after={"id": 4, "name": "d"})]
    )
    gone["spread"].land([*spread[3:], end_of_snapshot("spread", 500)])
    gone["resumed"].land([read[1], end_of_snapshot("resumed", 500)])
    # the connector was down; its new snapshot shows what is there now
    land(
        project,
        "pg",
        "000002.jsonl",
        [
            *snapshot("items", [{"id": 3, "name": "C"}, {"id": 5, "name": "d"}, {"id": 6, "name": "f"}], 900),
            *snapshot("copies", [{"v": "x"}, {"v": "y"}, {"v": "y"}], 900),
            event("c", "moved", after={"id": 2, "big": UNAVAILABLE}, lsn=5000, txId=5000),
            # the same transaction changes it once more; the other one's delete comes again
            event("d", "moved", {"id": 2}, lsn=5010, txId=5000),
            event("c", "moved", after={"id": 3, "big": UNAVAILABLE}, lsn=5010, txId=5000),
            event("d", "moved", {"id": 5}, lsn=6000, txId=6000),
            event("c", "moved", after={"id": 6, "big": UNAVAILABLE}, lsn=6000, txId=6000),
            # of this one nothing is known
            event("c", "moved", after={"id": 9, "big": UNAVAILABLE}),
        ],
    )  # fmt: skip
    project.dbt("run", "--select", *often)
    yield made


@pytest.fixture(scope="module")
def others(entities: dict[str, EventEntity]) -> dict[str, EventEntity]:
    """Entities over the same folder that the default ring leaves out."""
    names = ["mssql", "oracle", "clocked", "bytes"]
    entities["items"].project.dbt("run", "--select", *names)
    return {name: entities[name] for name in names}


def test_noise_is_counted(entities: dict[str, EventEntity]) -> None:
    items = entities["items"]
    # 7 messages that are no change, 25 events of other tables; an empty line is no message
    assert items.commits("rows_read, rows_rejected, rows_ignored")[0] == (42, 4, 32)
    assert items.rows("_reject_reason", "__rejects") == [
        ("no_after_image",),
        ("unknown_operation: x",),
        ("unreadable",),
        ("unreadable",),
    ]
    assert ("{broken",) in items.rows("_raw_payload", "__rejects")


def test_snapshot_over_a_target(entities: dict[str, EventEntity]) -> None:
    items = entities["items"]
    assert items.rows("id, name") == [(3, "C"), (5, "d"), (6, "f")]
    # 2 was deleted while nobody looked; what is unchanged has no new version
    assert items.rows("id, _operation, _source_operation", "__history", "_batch_id > (select min(_batch_id) from items__log)") == [
        (2, "D", "SNAPSHOT"),
        (3, "U", "READ"),
        (6, "I", "READ"),
    ]  # fmt: skip


def test_snapshot_of_copies(entities: dict[str, EventEntity]) -> None:
    copies = entities["copies"]
    assert copies.rows("v, count(*)", where="true group by v") == [("x", 1), ("y", 2)]
    assert copies.rows("v, _operation, _source_operation", "__history", "_batch_id > (select min(_batch_id) from copies__log)") == [
        ("x", "D", "SNAPSHOT"),
        ("y", "I", "READ"),
    ]  # fmt: skip


@pytest.mark.slow
def test_other_databases(others: dict[str, EventEntity]) -> None:
    assert others["mssql"].rows("id, cast(price as string), cast(at as string), _operation") == [
        (1, "-0.01", "2024-02-29 12:34:56.123456", "U")
    ]
    assert others["oracle"].rows("ID, NAME") == [(2, "p")]


@pytest.mark.slow
def test_schema_that_changed_its_units(others: dict[str, EventEntity]) -> None:
    assert others["clocked"].rows("id, cast(at as string)") == [
        (1, "2024-02-29 12:34:56.123"),
        (2, "2024-02-29 12:34:56.123456"),
    ]


def test_snapshot_without_rows(entities: dict[str, EventEntity]) -> None:
    """What it did not read is gone, also where no row can say so; known again, the end of it ends nothing."""
    emptied = entities["emptied"]
    assert emptied.rows("id") == [(4,)]
    assert emptied.rows("id, _operation, _source_operation", "__history", "_operation = 'D'") == [
        (1, "D", "SNAPSHOT"),
        (2, "D", "SNAPSHOT"),
        (3, "D", "SNAPSHOT"),
    ]
    told = "_source_operation = 'SNAPSHOT' and _operation = 'T'"
    assert emptied.rows("_event_id", "__log", told) == emptied.rows(
        "_event_id", "__staging", "_operation = 'SNAPSHOT'"
    )
    # two runs had parts of it: of rows that are as they were, none of which says that it is the last, and of rows without key
    assert entities["resumed"].rows("id") == [(1,), (2,)]
    assert entities["spread"].rows("v") == [("x",), ("x",), ("y",), ("z",)]


def test_column_that_is_taken_in(entities: dict[str, EventEntity]) -> None:
    """Rows that stand have values that nobody told, not the default; what is new at the source has its default in them."""
    taken_in = entities["taken_in"]
    assert taken_in.rows("id, status, level") == [(1, None, 5), (2, None, 5), (3, "paid", 7)]


def test_change_of_key_in_two_runs(entities: dict[str, EventEntity]) -> None:
    moved = entities["moved"]
    assert moved.rows("id, big, _operation") == [(3, "of 1", "I"), (6, "of 5", "I")]
    assert moved.rows("_reject_reason", "__rejects", COLUMN) == [("unavailable_value: big",)]
    assert moved.rows("id, big, _source_operation", "__history", "id in (2, 3, 6)") == [
        (2, "of 1", "DELETE"),
        (2, "of 1", "MOVE_IN"),
        (3, "of 1", "MOVE_IN"),
        (6, "of 5", "MOVE_IN"),
    ]


@pytest.mark.slow
def test_bytes_without_schema(others: dict[str, EventEntity]) -> None:
    assert others["bytes"].rows("id, hex(b)") == [(1, "00FF"), (3, "")]
    assert others["bytes"].rows("_reject_reason", "__rejects", COLUMN) == [
        ("ambiguous_encoding: b",),
        ("ambiguous_encoding: b",),
        ("cast_failed: b",),
    ]
