"""`bigint unsigned` by a Debezium that knows no number without a sign: its 64 bits, as the source's type tells."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest

from .event_entities import EventEntity
from .test_debezium_messages import with_columns

_positions = itertools.count(100, 10)
# as the source has them
MOST, NEXT, HALF = 2**64 - 1, 2**64 - 2, 2**63
TYPES = {"id": "BIGINT UNSIGNED", "n": "BIGINT(20) UNSIGNED ZEROFILL", "small": "INT UNSIGNED"}
Row = tuple[int, int | None, int]


def field(name: str, mode: str) -> dict[str, Any]:
    told = {"parameters": {"__debezium.source.column.type": TYPES[name]}, "optional": name == "n"}
    if mode == "precise" and name != "small":
        decimal = {"name": "org.apache.kafka.connect.data.Decimal", "type": "bytes"}
        return {"field": name, **decimal, "parameters": {"scale": "0", "connect.decimal.precision": "20", **told["parameters"]}}  # fmt: skip
    return {"field": name, "type": "int64", **told}


def written(number: int | None, mode: str) -> Any:
    if number is None:
        return None
    if mode == "precise":
        return base64.b64encode(number.to_bytes(9, "big")).decode()
    return number - 2**64 if number >= HALF else number


def line(op: str, before: Row | None, after: Row | None, mode: str = "long") -> str:
    """A line of MySQL."""

    def image(row: Row | None) -> Any:
        if row is None:
            return None
        return {"id": written(row[0], mode), "n": written(row[1], mode), "small": row[2]}

    position = next(_positions)
    source = {"connector": "mysql", "name": "shop", "db": "shop", "table": "t", "snapshot": "false", "ts_ms": 1772600000000 + position,
              "file": "mysql-bin.000003", "pos": position, "row": 0}  # fmt: skip
    envelope = {"before": image(before), "after": image(after), "source": source, "op": op, "ts_ms": position}  # fmt: skip
    message = json.dumps({"topic": "shop.t", "key": None, "value": envelope})
    return with_columns(message, *(field(name, mode) for name in TYPES))


def entity(project: Any, name: str, columns: dict[str, str] | None = None, **settings: Any) -> EventEntity:  # fmt: skip
    return EventEntity(project, name, columns or {}, format="debezium", table="shop.t", **settings)


CHANGES: list[tuple[str, Row | None, Row | None]] = [
    ("c", None, (MOST, NEXT, 4294967295)),
    ("c", None, (5, 7, 0)),
    ("c", None, (6, None, 1)),
    ("u", (MOST, NEXT, 4294967295), (MOST, HALF, 4294967295)),
    ("u", (6, None, 1), (NEXT, None, 1)),
    ("c", None, (HALF, HALF - 1, 1)),
]
LATER: list[tuple[str, Row | None, Row | None]] = [
    ("d", (NEXT, None, 1), None),
    ("u", (HALF, HALF - 1, 1), (HALF, MOST, 1)),
]


@pytest.mark.turn(0)
def test_numbers_are_those_of_the_source(module_project: Any) -> None:
    """By each engine, with the hashes of a Debezium that writes them out."""
    entities = {
        "by_spark": entity(module_project, "by_spark", engine="spark"),
        "by_workers": entity(module_project, "by_workers", engine="workers"),
        "precise": entity(module_project, "precise", engine="spark"),
    }
    for changes in (CHANGES, LATER):
        for name, one in entities.items():
            one.land([line(*change, mode="precise" if name == "precise" else "long") for change in changes])  # fmt: skip
        module_project.dbt("run", "--select", *entities)
    types = {each[0]: each[1] for each in module_project.sql("describe by_spark")}
    assert [types[name] for name in TYPES] == ["decimal(20,0)", "decimal(20,0)", "bigint"]
    found = entities["by_spark"].rows("string(id), string(n), small")
    assert sorted(found) == sorted([(str(MOST), str(HALF), 4294967295), ("5", "7", 0), (str(HALF), str(MOST), 1)])  # fmt: skip
    for table in ("", "__log"):
        rows = [one.rows("id, n, small, _key_hash, _row_hash, _operation", table) for one in entities.values()]  # fmt: skip
        assert rows[1:] == rows[:1] * 2, table


@pytest.mark.turn(1)
def test_declared_types_that_are_too_short(module_project: Any) -> None:
    short = entity(module_project, "short", {"n": "bigint"}, engine="auto", on_reject="quarantine")
    short.load([line("c", None, (1, MOST, 1)), line("c", None, (2, HALF - 1, 1)), line("d", (2, MOST, 1), None)])  # fmt: skip
    assert short.rows("string(id), n") == []
    assert short.rows("_reject_reason", "__rejects") == [("unsigned_too_large: n",)]


@pytest.mark.turn(2)
def test_what_was_stored_so_far(module_project: Any) -> None:
    """A column grows where nothing in it is wrong; else the run says what is, and what to do."""
    as_written = {"id": "number", "n": "number"}
    columns = {"id": "bigint", "n": "bigint"}
    grows = entity(module_project, "grows", columns, encodings=as_written, engine="spark")
    wrong = entity(module_project, "wrong", columns, encodings=as_written, engine="spark")
    grows.load([line("c", None, (1, 5, 1))])
    wrong.load([line("c", None, (MOST, 5, 1))])
    assert wrong.rows("id") == [(-1,)]
    for one in (grows, wrong):
        one.settings.pop("encodings")
        one.write(columns={}, engine="auto")
        one.land([line("u", None, (1, MOST, 1))])
    grows.run()
    assert grows.rows("string(id), string(n)") == [("1", str(MOST))]
    error = wrong.run(expect_pass=False).error
    assert "column `id` is unsigned at the source, but the table has negative numbers" in error
    assert wrong.rows("id, n") == [(-1, 5)]
    wrong.run("--full-refresh")
    assert sorted(wrong.rows("string(id), string(n)")) == [("1", str(MOST)), (str(MOST), "5")]


@pytest.mark.turn(3)
def test_what_an_event_is_written_as(module_project: Any) -> None:
    """A line without a schema is read by what the settings say."""
    bare = entity(module_project, "bare", {"id": "decimal(20,0)", "n": "decimal(20,0)", "small": "bigint"}, encodings={"id": "unsigned", "n": "unsigned"})  # fmt: skip
    content = json.loads(line("c", None, (MOST, HALF, 1)))
    bare.load([json.dumps({**content, "value": content["value"]["payload"]})])
    assert bare.rows("string(id), string(n)") == [(str(MOST), str(HALF))]
