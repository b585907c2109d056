"""Canonical events by the engine in the workers, without Spark: what it reads, declines and looks up."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.macros import load_macros
from tidemark.engine.events import task
from tidemark.engine.events.canonical import DDL_OPERATIONS
from tidemark.engine.events.decoded import Asked
from tidemark.engine.events.load import LINES_OF_FILE, LogFile
from tidemark.engine.events.task import keep, read, replay
from tidemark.engine.header import stamp_of
from tidemark.shapes.events import HAS_DDL

from .test_engine_events import Lake

SPARK_ALONE = "a line has numbers or texts of a form that is read by Spark alone"


def event(operation: str, number: int | None = 1, key: Any = 1, **others: Any) -> str:
    """An event of the table `orders`; what is `...` is left out."""
    row = {"id": key, "name": "a", "n": 1} if operation != "DELETE" else {"_before_id": key}
    told = {"_operation": operation, "_table": "orders", "_sequence_num": number, **row, **others}
    return json.dumps(
        {name: value for name, value in told.items() if value is not ...}, ensure_ascii=False
    )


def lake(root: Path) -> Lake:
    return Lake(root, form="canonical")


PLAIN = event("INSERT")
DECLINED: dict[str, list[str]] = {
    SPARK_ALONE: [
        PLAIN.replace('"n": 1', '"n": 1.50'), PLAIN.replace('"n": 1', '"n": 1e2'), PLAIN.replace('"n": 1', '"n": [1]'),
        PLAIN.replace('"n": 1', '"n": 1, "n": 1'), PLAIN.replace('"a"', '"\\u0000"'), PLAIN.replace('"n": 1', '"n": -0.0'),
        event("INSERT", _offset=1.5), event("INSERT", _transaction_id=True), event("INSERT", _is_snapshot="yes"), event("INSERT", _event_time=[1]),
    ],
    "a line is no event of a row": [
        "{}", "[]", "17", '"text"', event("TRUNCATE"), event("INSERT", _operation=...),
        event("INSERT", _operation=None), event("INSERT", _operation=7), event("INSERT", _table=7), event("INSERT", _prev_table="orders", _table="x"), event("INSERT", _schema=[]),
        event("INSERT", number=-1), event("INSERT", _sequence_num="1x"), event("INSERT", _sequence_num=10**18), event("INSERT", _sequence_num="soon", _table="elsewhere"),
    ],
    HAS_DDL: [event("ALTER_TABLE"), event("CREATE_DATABASE", _table="elsewhere"), event("RENAME_TABLE", _schema=[]), event("alter_table", what=1)],
    "an event that changes its key leaves out a column": [event("UPDATE", 5, n=..., _before_id=2)],
    "an event has no key, or a part of one": [event("UPSERT", key=...), event("DELETE", _before_id=..., _before_name="a"), event("DELETE", _before_id=...)],
    "an image has other columns than are declared": [event("INSERT", m=1), event("UPDATE", _before_m=1), event("DELETE", ID=1), event("INSERT", _key_hash="x")],
    "a value was not logged by the source": [event("UPDATE", name="__debezium_unavailable_value")],
    "column n has a value that is a reject, or of a form that is read by Spark alone": [event("INSERT", n="1.005"), event("INSERT", n="x"), event("INSERT", n="")],
    "column id has a value that is a reject, or of a form that is read by Spark alone": [
        event("INSERT", key=None), event("INSERT", key="007"), event("DELETE", key=2**31), event("UPDATE", _before_id="x"), event("DELETE", key=None),
    ],
    "column _event_time has a value that is a reject, or of a form that is read by Spark alone": [
        event("INSERT", _event_time="2026-03-04T12:30:00+01:00"), event("INSERT", _event_time=1772611200123), event("INSERT", _event_time="1500-01-01 00:00:00"),
    ],
    "two events have one _sequence_num": [event("INSERT", key=2), event("UPDATE", n=2)],
    "a file is not read by it (InvalidInputException)": ["{", PLAIN + "}"],
}  # fmt: skip


@pytest.fixture(params=[1, task._FIRST_LINES])
def kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What kinds of lines there are is told by the first one alone, or by all of them."""
    monkeypatch.setattr(task, "_FIRST_LINES", request.param)


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("why", DECLINED)
def test_lines__declined(tmp_path: Path, why: str) -> None:
    for line in DECLINED[why]:
        outcome = lake(tmp_path).load([line, PLAIN])
        assert outcome.declined == why, line
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.usefixtures("kinds")
def test_rows(tmp_path: Path) -> None:
    """What is no change of the table is passed over, whatever members it has; the rest is replayed by number."""
    shop = lake(tmp_path)
    lines = [
        event("INSERT", 3, 1), event("INSERT", 1, 2), event("UPDATE", 4, 3, _before_id=1), event("upsert", 5, 1, name="b"), event("DELETE", 6, 2),
        "null", event("COMMIT", 9), event("INSERT", 2, 9, _table="items", what={"is": ["else"]}),
        event("DELETE", 7, 5),
    ]  # fmt: skip
    figures = shop.load(lines).figures or {}
    assert shop.rows("current", "id, name, _sequence_num") == [(1, "b", 5), (3, "a", 4)]
    assert shop.rows("log", "_sequence_num, _source_operation, _operation, id") == [
        (1, "INSERT", "I", 2), (3, "INSERT", "I", 1), (4, "MOVE_IN", "I", 3), (4, "MOVE_OUT", "D", 1), (5, "UPSERT", "I", 1), (6, "DELETE", "D", 2), (7, "DELETE", "N", 5),
    ]  # fmt: skip
    assert (figures["rows_read"], figures["rows_ignored"], figures["has_moves"]) == (9, 3, 1)
    assert shop.rows("staging", "_landing_num, _sequence_num")[0] == ((1 << 32) + 1, 3)


def test_stretch(tmp_path: Path) -> None:
    """Lines up to a DDL event, those behind it, and none of the statements between them are read."""
    shop = lake(tmp_path)
    lines = [event("INSERT", 1), event("ALTER_TABLE", 2), event("UPDATE", 3), event("DROP_TABLE", 4, _table="x"), event("UPDATE", 5), event("ALTER_TABLE", 6), event("INSERT", 7, what=1)]  # fmt: skip
    asked = Asked(is_sequenced=False, ordering=(), by_content=False, takes_rejects=False)
    batch, kept = shop.batch(lines), str(tmp_path / "kept")

    def numbers(**part: Any) -> list[Any] | str | None:
        outcome = read(replace(batch, **part), asked, kept, shop.room())
        if outcome.declined:
            return outcome.declined
        rows = duckdb.sql(
            f"select _sequence_num, _landing_num from read_parquet('{outcome.kept}') order by all"
        )
        return [(number, landing - LINES_OF_FILE) for number, landing in rows.fetchall()]

    first = LINES_OF_FILE
    assert numbers() == HAS_DDL
    assert numbers(before=first + 2) == [(1, 1)]
    assert numbers(after=first + 2, before=first + 6) == HAS_DDL
    assert numbers(after=first + 2, before=first + 6, left_out=(first + 4,)) == [(3, 3), (5, 5)]
    assert numbers(after=first + 6) == "an image has other columns than are declared"


def test_stretch__of_files(tmp_path: Path) -> None:
    """Files that are wholly before or behind a stretch are not read."""
    shop = lake(tmp_path)
    batch = shop.batch([event("INSERT", 1)])
    second = LINES_OF_FILE * 2
    for part, reached in {
        (None, None): [1, 2, 3], (None, second + 5): [1, 2], (second + 5, second + 9): [2], (second + 5, None): [2, 3],
    }.items():  # fmt: skip
        stretch = replace(batch, after=part[0], before=part[1])
        assert [number for number in (1, 2, 3) if stretch.reaches(number)] == reached


def test_ddl_operations() -> None:
    assert load_macros("events")["ddl_operations"]() == [f"'{name}'" for name in DDL_OPERATIONS]


def test_rows__that_tell_no_database(tmp_path: Path) -> None:
    """Whether they are of a table whose database a statement told is Spark's to say; others are passed over."""
    shop = lake(tmp_path)
    tables = ("shop.orders", "shop.b")
    for table, declined in (("B", "a line is no event of a row"), ("items", None)):
        for operation in ("TRUNCATE_TABLE", "INSERT"):
            line = event(operation, 2, _table=table)
            batch = shop.batch([event("INSERT", _database="shop"), line])
            batch = replace(batch, tables=tables)
            outcome = replay(batch, shop.targets(batch), shop.log, shop.room())
            assert outcome.declined == declined, line


def test_rows__of_a_swap_that_goes_on(tmp_path: Path) -> None:
    """Without transactions a departure may be of the row that a move has pushed aside in an earlier batch."""
    shop = lake(tmp_path)
    shop.load([event("INSERT", number, number) for number in (1, 2, 3)])
    shop.load([event("UPDATE", 4, 2, _before_id=1), event("UPDATE", 5, 9, _before_id=3)])
    goes_on = "a transaction goes on in which a row has changed its key"
    for line, declined in {
        event("UPDATE", 6, 1, _before_id=2): goes_on,
        event("DELETE", 6, 2): goes_on,
        # no row was there; it is no departure; it has a transaction, in which no row has moved
        event("DELETE", 6, 9): None,
        event("UPDATE", 6, 2): None,
        event("DELETE", 6, 2, _transaction_id="t"): None,
    }.items():
        batch = replace(shop.batch([line]), has_moves=True)
        outcome = replay(batch, shop.targets(batch), shop.log, shop.room())
        assert outcome.declined == declined, line


@pytest.mark.usefixtures("kinds")
def test_delete(tmp_path: Path) -> None:
    """A delete counts by its own values, else by those from before."""
    shop = lake(tmp_path)
    lines = [event("INSERT", 1, 1), event("INSERT", 2, 2), event("DELETE", 3, 1, name="b", _before_name="c", _before_n=2), event("DELETE", 4, _before_id=..., id=2)]  # fmt: skip
    assert shop.load(lines).declined is None
    assert shop.rows("current", "id") == []
    assert shop.rows("staging", "_sequence_num, id, name, n, _before_id")[2:] == [
        (3, 1, "b", 2, 1),
        (4, 2, None, None, None),
    ]


@pytest.mark.usefixtures("kinds")
def test_left_out(tmp_path: Path) -> None:
    """What an update leaves out stays as it is; a row that is not there has nothing of it."""
    shop = lake(tmp_path)
    shop.load([event("INSERT", 1, name="b"), event("UPDATE", 2, n=2, name=...), event("UPDATE", 3, n=None, name=...), event("DELETE", 4), event("UPDATE", 5, n=5, name=...)])  # fmt: skip
    shop.load([event("UPDATE", 6, name="c", n=...), event("UPDATE", 7, n=..., name=...), event("UPDATE", 8, name="d", n=8)])  # fmt: skip
    assert shop.rows("log", "_sequence_num, _operation, name, n, _changed_columns, _unsupplied") == [
        (1, "I", "b", 1, None, None), (2, "U", "b", 2, ["n"], ["name"]), (3, "U", "b", None, ["n"], ["name"]), (4, "D", "b", None, None, None), (5, "I", None, 5, None, ["name"]),
        (6, "U", "c", 5, ["name"], ["n"]), (7, "N", "c", 5, None, ["name", "n"]), (8, "U", "d", 8, ["name", "n"], None),
    ]  # fmt: skip
    assert shop.rows("current", "id, name, n") == [(1, "d", 8)]
    assert shop.rows("staging", "_sequence_num, name, _unsupplied")[1] == (2, None, ["name"])


@pytest.mark.parametrize(
    ("told", "is_known"),
    [
        ({"_sequence_num": 7}, True),
        ({"_sequence_num": ..., "_offset": "p"}, True),
        ({"_sequence_num": ..., "_event_time": "2026-03-04 12:30:00"}, True),
        ({"_sequence_num": ..., "_transaction_id": "t"}, True),
        ({"_sequence_num": ...}, False),
    ],
)  # fmt: skip
def test_known_again(tmp_path: Path, told: dict[str, Any], is_known: bool) -> None:
    """An event that comes again is known by its number, its offset or its content, however its line is written."""
    shop = lake(tmp_path)
    line = event("INSERT", **told)
    assert shop.load([line]).declined is None
    members = dict(reversed(json.loads(line).items()))
    figures = shop.load([json.dumps(members, separators=(",", ":"))]).figures or {}
    assert (figures["rows_duplicate"], figures["rows_logged"]) == ((1, 0) if is_known else (0, 1))


def test_known_again__reads_what_may_have_the_events_alone(tmp_path: Path) -> None:
    shop = lake(tmp_path)
    shop.log = (LogFile("/nowhere.parquet", "a", "b", 1, 6),)
    assert shop.load([event("INSERT", 7)]).declined is None
    assert shop.load([event("INSERT", 8, 2, _offset="aa")]).declined is None
    shop.log = (LogFile("/nowhere.parquet", None, None, 1, 6),)
    with pytest.raises(duckdb.Error):
        shop.load([event("INSERT", 6)])
    with pytest.raises(duckdb.Error):
        shop.load([event("INSERT", ..., _offset="c")])


def test_comes_before(tmp_path: Path) -> None:
    """An event of a lesser number than the log has belongs between others: also where no statistics tell the number."""
    shop = lake(tmp_path)
    shop.load([event("INSERT", 7), event("DELETE", 9)])
    why = "an event comes before one that the log has"
    assert shop.load([event("INSERT", 8, 2)]).declined == why
    shop.log = tuple(replace(file, first=None, last=None) for file in shop.log)
    assert shop.load([event("INSERT", 8, 2)]).declined == why
    assert shop.load([event("INSERT", 10, 2)]).declined is None


def test_first_batch(tmp_path: Path) -> None:
    """What a snapshot reads where there is something already may be the end of that, which Spark tells."""
    shop = lake(tmp_path)
    batch = shop.batch([event("READ", 1, _is_snapshot=True), event("READ", 1, 2)], is_first=True)
    assert keep(batch, str(tmp_path / "kept"), shop.room()).declined == "two events have one _sequence_num"  # fmt: skip
    read = {"_is_snapshot": True, "_offset": "s1"}
    for later in ({}, {**read, "_offset": "s2"}):
        lines = [event("READ", 1, **later), event("INSERT", 2, 2, **read)]
        declined = keep(shop.batch(lines, is_first=True), str(tmp_path / "kept"), shop.room()).declined  # fmt: skip
        assert declined == "a snapshot was read again"
    batch = shop.batch([event("READ", 1, _is_snapshot=True), event("READ", 2, 2)], is_first=True)
    assert keep(batch, str(tmp_path / "kept"), shop.room()).declined is None


def test_compressed(tmp_path: Path) -> None:
    """Files of gzip, one that is cut among them."""
    shop = lake(tmp_path)
    for count, why in ((None, None), (20, "a file is not read by it (EOFError)")):
        batch = shop.batch([])
        path = tmp_path / f"{shop.number}.jsonl.gz"
        path.write_bytes(gzip.compress(PLAIN.encode() + b"\n")[:count])
        landed = replace(batch.landed[0], path=str(path), stamp=stamp_of(str(path)))
        batch = replace(batch, landed=(landed,), load=replace(batch.load, stamps=(landed.stamp,)))
        assert replay(batch, shop.targets(batch), (), shop.room()).declined == why


def test_many_kinds_of_lines(tmp_path: Path) -> None:
    """Members that no event of the table can have are not counted: they are of other tables."""
    shop = lake(tmp_path)
    others = [event("INSERT", number, _table="items", **{f"c{number}": 1}) for number in range(1, 200)]  # fmt: skip
    assert shop.load([*others, event("INSERT", 1000)]).declined is None
