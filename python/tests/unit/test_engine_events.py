"""Change events by the engine in the workers, without Spark: what it reads, declines and writes."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tidemark.engine import ranges
from tidemark.engine.covers import (
    why_not,
    why_not_images,
    why_not_opened,
    why_not_read,
)
from tidemark.engine.events.load import (
    Batch,
    EventTargets,
    Landed,
    LogFile,
    landed_of,
    placeholders_of,
)
from tidemark.engine.events.task import keep, replay, write_kept
from tidemark.engine.events.types import unproven_sql, value_sql
from tidemark.engine.events.written import LOGGED, SHOWN, staged_names
from tidemark.engine.header import stamp_of
from tidemark.engine.load import Column, Load, Target
from tidemark.engine.room import Room
from tidemark.engine.task import Outcome
from tidemark.shapes.events import HAS_DDL

TYPES = {"id": "int", "name": "string", "n": "decimal(9,2)"}
Row = tuple[Any, ...]


class Lake:
    """Tables of an entity as folders of Parquet files, and its landing folder."""

    def __init__(
        self,
        root: Path,
        soft_delete: bool = False,
        form: str = "debezium",
        ignored: tuple[str, ...] = (),
    ) -> None:
        self.root = root
        self.ignored = ignored
        self.soft_delete = soft_delete
        self.form = form
        self.number = 0
        self.commit = 0
        self.has_moves = False
        self.current: tuple[str, ...] = ()
        self.log: tuple[LogFile, ...] = ()

    def batch(self, lines: Sequence[str | bytes], is_first: bool = False) -> Batch:
        self.commit += 1
        self.number += 1
        path = self.root / f"{self.number}.jsonl"
        path.write_bytes(b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines))  # fmt: skip
        columns = tuple(Column(name, kind, place, name == "id") for place, (name, kind) in enumerate(TYPES.items()))  # fmt: skip
        landed = Landed(str(path), self.number, stamp_of(str(path)))
        load = Load(
            extract="events", format=self.form, files=(landed.path,), stamps=(landed.stamp,), separator="", fields=(),
            columns=columns, keys=("id",), compared=tuple(name for name in ("name", "n") if name not in self.ignored),
            ignored=self.ignored, hash="md5", changed_columns=True,
            soft_delete=self.soft_delete, tag_unchanged=False, business_date="2026-03-04", commit_id=self.commit,
        )  # fmt: skip
        tables = ("public.orders" if self.form == "debezium" else "orders",)
        return Batch(load, (landed,), tables, placeholders_of("__debezium_unavailable_value"), self.commit, is_first, self.has_moves)  # fmt: skip

    def target(self, name: str, others: Sequence[str], files: tuple[str, ...] = ()) -> Target:
        (self.root / name).mkdir(exist_ok=True)
        names = [*TYPES, *others, "_superseded_by", "_batch_id", "_unsupplied"]
        fields = {one: (one, place + 1) for place, one in enumerate(dict.fromkeys(names))}
        return Target(str(self.root / name), fields, files)

    def targets(self, batch: Batch) -> EventTargets:
        return EventTargets(
            self.target("log", LOGGED),
            self.target("current", SHOWN, self.current),
            self.target("staging", staged_names(batch)),
        )

    def room(self) -> Room:
        return Room(1, str(self.root / "scratch"), 1 << 30)

    def load(self, lines: Sequence[str | bytes]) -> Outcome:
        batch = self.batch(lines)
        return self.taken(replay(batch, self.targets(batch), self.log, self.room()))

    def taken(self, outcome: Outcome) -> Outcome:
        """Commit what was written."""
        self.has_moves |= bool((outcome.figures or {}).get("has_moves"))
        if outcome.current is not None:
            replaced = self.current if outcome.replaced is None else outcome.replaced
            assert set(replaced) <= set(self.current)
            stay = [file for file in self.current if file not in replaced]
            self.current = (
                *stay,
                *(str(self.root / "current" / one.path) for one in outcome.current),
            )
        for one in outcome.log:
            least, greatest = (one.statistics[side] for side in ("minValues", "maxValues"))
            bounds = [
                side.get(name)
                for name in ("_offset", "_sequence_num")
                for side in (least, greatest)
            ]
            self.log += (LogFile(str(self.root / "log" / one.path), *bounds),)
        return outcome

    def rows(self, table: str, select: str) -> list[Row]:
        files = (
            list(self.current)
            if table == "current"
            else [str(one) for one in (self.root / table).rglob("*.parquet")]
        )
        if not files:
            return []
        return duckdb.sql(
            f"select {select} from read_parquet({files}, union_by_name = true) order by all"
        ).fetchall()


def event(
    op: str, number: int, before: Row | None = None, after: Row | None = None, **source: Any
) -> str:
    """An envelope of PostgreSQL."""

    def image(row: Row | None) -> Mapping[str, Any] | None:
        return None if row is None else dict(zip(TYPES, row, strict=False))

    told = {"connector": "postgresql", "name": "pg", "db": "shop", "schema": "public", "table": "orders", "snapshot": "false",
            "ts_ms": 1772611200000 + number, "txId": number, "lsn": 1000 + number, **source}  # fmt: skip
    return json.dumps(
        {"before": image(before), "after": image(after), "source": told, "op": op},
        ensure_ascii=False,
    )


@pytest.mark.parametrize("form", ["debezium", "canonical"])
def test_lines_of_spaces__are_passed_over(tmp_path: Path, form: str) -> None:
    """They are no JSON, and nothing that Spark would have to read."""
    row = (1, "a", "1.50")
    line = event("c", 1, None, row) if form == "debezium" else json.dumps({"_operation": "INSERT", "_table": "orders", "_sequence_num": 1, "id": 1, "name": "a"})  # fmt: skip
    shop = Lake(tmp_path, form=form)
    figures = shop.load(["   ", line, " "]).figures or {}
    assert (figures["rows_read"], figures["rows_logged"]) == (1, 1)


@pytest.mark.parametrize("rows_of_a_range", [None, 3])
@pytest.mark.parametrize("soft_delete", [False, True])
def test_replay__random_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, soft_delete: bool, rows_of_a_range: int | None
) -> None:
    """Current and log as a replay in Python has them; events that come again change nothing."""
    if rows_of_a_range:
        monkeypatch.setattr(ranges, "ROWS_OF_ONE_FILE", 0)
        monkeypatch.setattr(ranges, "ROWS_OF_A_RANGE", rows_of_a_range)
    rng = random.Random(5)
    lake = Lake(tmp_path, soft_delete)
    there: dict[int, tuple[Row, str, int]] = {}
    wanted: list[Row] = []
    earlier: list[str] = []
    number, of_a_part = 0, 0
    for size in (60, 60, 3, 3, 60, 3, 3):
        lines: list[str] = []
        counts = dict.fromkeys("IUDN", 0)
        for _ in range(size):
            number += 1
            key = rng.randrange(25)
            row = (key, rng.choice(["a", "b", None, "ü\n"]), rng.choice([1.0, 2.5, None]))
            is_there = key in there and there[key][1] != "D"
            place = (lake.number + 1) * 2**32 + len(lines) + 1
            if rng.random() < 0.2:
                lines.append(event("d", number, before=row[:1]))
                op = "D" if is_there else "N"
                if is_there:
                    there[key] = (there[key][0], "D", place)
            else:
                op = ("N" if there[key][0] == row else "U") if is_there else "I"
                if op != "N":
                    there[key] = (row, op, place)
                lines.append(event("u" if is_there else "c", number, after=row))
            wanted.append((place, op))
            counts[op] += 1
        again = rng.sample(earlier, min(7, len(earlier))) + rng.sample(lines, 3)
        earlier += lines
        outcome = lake.load([*lines, *again])
        assert outcome.declined is None
        of_a_part += outcome.replaced is not None
        figures = outcome.figures or {}
        assert figures["rows_duplicate"] == len(again)
        assert [figures[f"rows_{name}"] for name in ("inserted", "updated", "deleted", "unchanged")] == list(counts.values())  # fmt: skip
        found = lake.rows("current", "id, name, cast(n as double), _operation, _sequence_num")
        rows = [(*row, op, place) for row, op, place in there.values() if soft_delete or op != "D"]
        assert sorted(map(repr, found)) == sorted(map(repr, rows))
    assert bool(of_a_part) == bool(rows_of_a_range)
    assert lake.rows("log", "_sequence_num, _operation") == sorted(wanted)
    assert lake.rows("staging", "_sequence_num") == sorted((place,) for place, _ in wanted)


def test_replay__reads_what_may_have_the_events_alone(tmp_path: Path) -> None:
    """A file of the log whose positions are others than those of the batch is not opened."""
    lake = Lake(tmp_path)
    lake.log = (LogFile("/nowhere.parquet", "1:1", "3:9"),)
    assert lake.load([event("c", 4, after=(1, "a", 1))]).declined is None
    lake.log = (LogFile("/nowhere.parquet", "1:1", "7:9"),)
    with pytest.raises(duckdb.Error):
        lake.load([event("c", 6, after=(2, "a", 1))])


def test_keep__the_first_batch(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    batch = lake.batch([event("r", 1, after=(1, "a", 1), snapshot="last"), "null", event("u", 2, after=(1, "b", 1))], is_first=True)  # fmt: skip
    kept = keep(batch, str(tmp_path / "kept"), lake.room())
    assert kept.figures is not None
    assert (kept.figures["rows_read"], kept.figures["rows_ignored"]) == (3, 1)
    outcome = lake.taken(write_kept(batch, str(kept.kept), lake.targets(batch), lake.room()))
    assert (outcome.figures or {})["rows_logged"] == 2
    assert lake.rows("current", "id, name") == [(1, "b")]
    assert lake.rows("staging", "_operation, _is_snapshot") == [("READ", True), ("UPDATE", False)]


PLAIN = event("c", 1, after=(1, "a", 1))
DECLINED: dict[str, list[str | bytes]] = {
    "a line has numbers or texts of a form that is read by Spark alone": [
        PLAIN.replace('"n": 1', '"n": 1.50'), PLAIN.replace('"n": 1', '"n": 1e2'), PLAIN.replace('"n": 1', '"n": -0.0'),
        PLAIN.replace('"n": 1', '"n": NaN'), PLAIN.replace('"n": 1', '"n": -Infinity'), PLAIN.replace('"n": 1', '"n": {"a": 1}'),
        PLAIN.replace('"n": 1', '"n": [1]'), PLAIN.replace('"op"', '"op": "u", "op"'),
        PLAIN.replace('"a"', '"\\u0000"'), PLAIN.replace('"a"', '"\\/"'), PLAIN.replace('"op"', '"x": [1,], "op"'),
        PLAIN.replace('"op"', '"x": NaN, "op"'), PLAIN.replace('"op"', '"x": ' + "9" * 900 + ', "op"'),
        PLAIN.replace('"op"', '"x": ' + "[" * 500 + "]" * 500 + ', "op"'), PLAIN.replace('"a"', f'"{"a" * (1 << 20)}"'),
        PLAIN.replace('"n": 1', f'"n": {"9" * 39}'), PLAIN.replace('"lsn"', '"lsn": 1, "lsn"'),
    ],
    "a line is no plain envelope of a change of a row": [
        "{}", "[]", "17", '"text"', PLAIN.replace('"c"', '"t"'), PLAIN.replace('"c"', '"x"'), PLAIN.replace('"c"', '"snapshot"'), '{"payload": ' + PLAIN + "}",
        '{"value": null}', PLAIN.replace('"op"', '"_id": "7", "op"'), PLAIN.replace('"orders"', "null"),
        PLAIN.replace('"op"', '"transaction": 5, "op"'), PLAIN.replace('"shop"', "5"), PLAIN.replace('"false"', '"maybe"'),
        PLAIN.replace("1772611200001", '"soon"'), PLAIN.replace('"op"', '"status": "x", "op"'),
    ],
    HAS_DDL: [PLAIN.replace('"op": "c"', '"ddl": "x"'), PLAIN.replace('"op"', '"tableChanges": [], "op"'), '{"ddl": "drop table x", "source": {}}'],
    "an event has no position that is known": [
        PLAIN.replace("postgresql", "mongodb"), PLAIN.replace('"txId": 1', '"txId": 1.5'), PLAIN.replace('"txId": 1', '"txId": [1]'),
        PLAIN.replace('"lsn": 1001', '"lsn": true'),
    ],
    "an image has other columns than are declared": [
        PLAIN.replace('"n": 1', '"m": 1'), PLAIN.replace(', "n": 1', ""), PLAIN.replace('"n": 1', '"n": 1, "m": 1'), PLAIN.replace('"n": 1', '"n": 1, "n": 1'), PLAIN.replace('"id"', '"ID"'),
        PLAIN.replace('"before": null', '"before": {}'), PLAIN.replace('"before": null', '"before": {"name": "x"}'),
        event("d", 1), event("d", 1, before=(1, "a")), event("d", 1, before=(1,), after=(1, "a", 1)), event("u", 1, before=(1,)),
    ],
    "a value was not logged by the source": [
        event("u", 1, after=(1, "__debezium_unavailable_value", 1)), event("u", 1, after=(1, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", 1)),
    ],
    "column n has a value that is a reject, or of a form that is read by Spark alone": [
        event("c", 1, after=(1, "a", "1.005")), event("c", 1, after=(1, "a", "x")), event("c", 1, after=(1, "a", "")), event("c", 1, after=(1, "a", " 1")),
    ],
    "column id has a value that is a reject, or of a form that is read by Spark alone": [
        event("c", 1, after=(None, "a", 1)), event("c", 1, after=("007", "a", 1)), event("d", 1, before=(2**31,)), event("u", 1, before=("x",), after=(1, "a", 1)),
    ],
    "a file is not read by it (InvalidInputException)": [
        "{", PLAIN + "}", PLAIN.replace('"a"', '"\t"'), PLAIN.replace('"a"', '"\\ud800"'), PLAIN.encode().replace(b'"a"', b'"\xff"'),
        PLAIN.encode().replace(b'"a"', b'"\x01"'),
    ],
    "a file has carriage returns": [PLAIN + "\r"],
    "a file has empty lines": [""],
    "a file begins with a byte order mark": [b"\xef\xbb\xbf" + PLAIN.encode()],
    "its events are of several tables": [],
}  # fmt: skip


@pytest.mark.parametrize("why", [why for why, lines in DECLINED.items() if lines])
def test_lines__declined(tmp_path: Path, why: str) -> None:
    lake = Lake(tmp_path)
    for line in DECLINED[why]:
        outcome = lake.load([line, PLAIN])
        assert outcome.declined == why, line
    assert not list(tmp_path.rglob("*.parquet"))


def test_batches__declined(tmp_path: Path) -> None:
    for why, lines in {
        "a snapshot was read again": [event("r", 2, after=(1, "a", 1), snapshot="true")],
        "its events are of several tables": [PLAIN, event("c", 2, after=(2, "a", 1), db="other")],
    }.items():
        assert Lake(tmp_path).load(lines).declined == why
    lake = Lake(tmp_path)
    batch = lake.batch([PLAIN])
    Path(batch.landed[0].path).write_text(f"{PLAIN}\n{PLAIN}\n")
    outcome = replay(batch, lake.targets(batch), (), lake.room())
    assert outcome.declined == "a file was written while it was read"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("true", "boolean", True), ("0", "boolean", False), ("yes", "boolean", None), ("TRUE", "boolean", None),
        ("20516", "date", "2026-03-04"), ("2026-03-04", "date", "2026-03-04"), ("-1", "date", "1969-12-31"), ("-200000", "date", None),
        ("2026-03-04T00:00:00Z", "date", None), ("1772611200123456", "timestamp", "2026-03-04 08:00:00.123456+00"), ("1772611200123", "timestamp", None),
        ("2026-03-04T08:00:00Z", "timestamp", "2026-03-04 08:00:00+00"), ("2026-03-04 08:00:00", "timestamp", "2026-03-04 08:00:00+00"),
        ("2026-03-04T08:00:00+01:00", "timestamp", None), ("2026-03-04T08:00Z", "timestamp", None), ("", "int", None), ("1.0", "int", None), ("+1", "int", None),
        ("1e3", "double", 1000.0), ("NaN", "double", None), ("-0", "double", None), ("1e999", "double", None), (" 1", "double", None),
        ("2026-03-04T08:00:00Z", "timestamp_ntz", "2026-03-04 08:00:00"), ("1772611200123456", "timestamp_ntz", "2026-03-04 08:00:00.123456"),
        ("0", "timestamp_ntz micros", "1970-01-01 00:00:00"), ("-1", "timestamp_ntz micros", "1969-12-31 23:59:59.999999"),
        ("9223372036825200000", "timestamp_ntz micros", None), ("253402300799999999", "timestamp_ntz micros", "9999-12-31 23:59:59.999999"),
        ("253402300800000000", "timestamp_ntz micros", None), ("2026-03-04T08:00:00Z", "timestamp_ntz micros", None),
        ("1772611200123", "timestamp_ntz millis", "2026-03-04 08:00:00.123"), ("-62135596800001", "timestamp millis", None),
        ("20516", "date days", "2026-03-04"), ("2026-03-04", "date days", None), ("2026-03-04", "date iso", "2026-03-04"), ("20516", "date iso", None),
        ("1772611200123456", "timestamp iso", None), ("2026-03-04T08:00:00Z", "timestamp iso", "2026-03-04 08:00:00+00"), ("infinity", "timestamp iso", None),
        ("-1", "decimal(20,0) unsigned", "18446744073709551615"), ("-9223372036854775808", "decimal(20,0) unsigned", "9223372036854775808"),
        ("0", "decimal(20,0) unsigned", "0"), ("18446744073709551615", "decimal(20,0) unsigned", "18446744073709551615"),
        ("-9223372036854775809", "decimal(20,0) unsigned", None), ("-0", "decimal(20,0) unsigned", None), ("AP//////////", "decimal(20,0) unsigned", None),
        ("-1", "bigint unsigned", None), ("9223372036854775807", "bigint unsigned", 9223372036854775807), ("-1", "decimal(9,0) unsigned", None),
        ("1.5", "decimal(3,1)", "1.5"), ("1.55", "decimal(3,1)", None), ("1000", "decimal(3,1)", None),
    ],
)  # fmt: skip
def test_values(text: str, name: str, value: Any) -> None:
    """A text is read to what it is, or left to Spark (None)."""
    with duckdb.connect() as db:
        db.execute("set TimeZone = 'UTC'")
        read_as = name.split(" ")
        doubt = unproven_sql("t", "v", *read_as)
        found = db.execute(
            f"select {doubt}, v from (select t, {value_sql('t', *read_as)} as v from (select ? as t))",
            [text],
        ).fetchone()
        assert found is not None
        assert bool(found[0]) == (value is None)
        if value is not None:
            shown = db.execute("select cast(cast(? as varchar) as varchar)", [found[1]]).fetchone()
            assert found[1] == value or (shown and str(shown[0]) == value) or str(found[1]).startswith(str(value)[:19])  # fmt: skip


CFG: dict[str, Any] = {
    "extract": "events", "format": "debezium", "file_format": "delta", "write_mode": "copy_on_write", "stored_hashes": False,
    "sensitive": [], "partition_by": [], "cluster_by": [], "table_properties": {}, "hash": "md5", "location": "landing/shop", "keys": ["id"],
    "sequence_by": [], "encodings": {}, "previous_names": {}, "apply_as_deletes": "_operation = 'DELETE'",
    "apply_as_truncates": "_operation in ('TRUNCATE', 'TRUNCATE_TABLE')",
    "ignore_null_updates": {"all": False, "include": [], "exclude": []}, "chosen": {"all": True, "include": [], "exclude": []},
    "tracked": {"all": True, "include": [], "exclude": []},
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("format", "rows", "format is rows"), ("keys", [], "it has no unique_key"), ("sequence_by", ["_event_time"], "it has sequence_by"),
        ("encodings", {"a": "hex"}, "it has encodings"), ("previous_names", {"a": "b"}, "it has previous_names"), ("sensitive", ["a"], "it has sensitive"),
        ("ignore_null_updates", {"all": True, "include": [], "exclude": []}, "it has ignore_null_updates"), ("location", "shop.events", "its location is no folder with a / in it"),
        ("chosen", {"all": True, "include": [], "exclude": ["a"]}, "it has columns"), ("tracked", {"all": False, "include": ["a"], "exclude": []}, "it has track_history"),
        ("apply_as_deletes", "state = 'gone'", "it has apply_as_deletes"), ("write_mode", "merge_on_read", "write_mode is merge_on_read"), ("file_format", "iceberg", "file_format is iceberg"),
    ],
)  # fmt: skip
def test_why_not(setting: str, value: Any, why: str) -> None:
    assert why_not(CFG) is None
    assert why_not({**CFG, setting: value}) == why


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"format": "rows"}, None), ({"keys": []}, None), ({"sequence_by": ["at"]}, None), ({"apply_as_deletes": "gone", "apply_as_truncates": "false"}, None),
        ({"keys": [], "format": "canonical"}, "it has no unique_key"), ({"apply_as_truncates": "gone"}, "it has apply_as_truncates"),
        ({"chosen": {"all": True, "exclude": ["a"]}}, "it has columns"), ({"encodings": {"a": "hex"}}, "it has encodings"), ({"format": "xml"}, "format is xml"),
        ({"location": None}, "it has no location"), ({"location": "shop"}, "its location is no folder with a / in it"),
    ],
)  # fmt: skip
def test_why_not_read(settings: dict[str, Any], why: str | None) -> None:
    """What a batch needs beside its reading does not matter to it."""
    assert why_not_read({**CFG, **settings}) == why
    assert why_not_read({**CFG, **settings}) == why
    assert why_not_read({**CFG, **settings, "sensitive": ["a"]}) == why
    assert why_not_read(CFG) is None


@pytest.mark.parametrize(
    ("setting", "value", "is_asked"),
    [
        ("sequence_by", ["at"], True),
        ("keys", [], True),
        ("on_tie", "reject", True),
        ("on_tie", "later", False),
    ],
)
def test_why_not_opened(setting: str, value: Any, is_asked: bool) -> None:
    """Of opened lines the text is not there."""
    assert bool(why_not_opened({**CFG, "on_tie": "later", setting: value})) == is_asked


def test_why_not_images() -> None:
    column = {"name": "a", "type": "int", "hash_name": "a", "sources": ["a"], "encodings": {None: "auto"}}  # fmt: skip
    assert why_not_images([column], "Europe/Berlin") is None
    changes: list[tuple[dict[str, Any], str]] = [
        ({"type": "binary"}, "column a is binary"),
        ({"type": "timestamp"}, "column a is timestamp, and the session's time zone Europe/Berlin"),
        ({"name": "a b"}, "column a b has a name with other than letters, digits and _ in it"),
        ({"hash_name": "a~2"}, "column a has had another name"),
        ({"sources": ["A"]}, "column a has had another name"),
        ({"encodings": {"x": "millis"}}, "column a is int with encoding millis"),
        ({"encodings": {"x": "auto", None: "iso"}}, "column a is int with encoding auto, iso"),
    ]
    for change, why in changes:
        assert why_not_images([{**column, **change}], "Europe/Berlin") == why


def test_landed(tmp_path: Path) -> None:
    path = tmp_path / "a b.jsonl"
    path.write_text("null\n")
    file: dict[str, Any] = {"_file": f"file:{str(path).replace(' ', '%20')}", "_file_number": 3, "_last_number": 2, "_file_size": 5}  # fmt: skip
    assert landed_of([file]) == (Landed(str(path), 3, stamp_of(str(path))),)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"_last_number": 3}, "a file was read before"),
        ({"_file_size": 4}, "a file was written while it was read"),
        ({"_file": "s3a://lake/a.jsonl"}, "its files are not on a local file system"),
    ]
    for change, why in changes:
        assert landed_of([{**file, **change}]) == why
    assert landed_of([{**file, "_file": f"file:{tmp_path}/a.jsonl.parquet"}]) == "its files are no plain text"  # fmt: skip
    assert landed_of([file, {**file, "_file": "file:/elsewhere/b.jsonl"}]) == "its files lie in several folders"  # fmt: skip


@pytest.mark.parametrize("rows_of_a_range", [None, 1])
def test_replay__changes_of_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_of_a_range: int | None
) -> None:
    """A row that moves departs from its old key; two that change places in a transaction both stay."""
    if rows_of_a_range:
        monkeypatch.setattr(ranges, "ROWS_OF_ONE_FILE", 0)
        monkeypatch.setattr(ranges, "ROWS_OF_A_RANGE", rows_of_a_range)
    lake = Lake(tmp_path)
    rows = [event("c", number, after=(number, f"r{number}", 1)) for number in (1, 2, 3)]
    assert lake.load(rows).declined is None
    lines = [
        event("u", 4, before=(1,), after=(7, "r1", 1)),
        event("d", 5, before=(2,)), event("c", 5, after=(8, "r2", 1)),
        event("u", 6, before=(7,), after=(3, "r1", 1)), event("u", 6, before=(3,), after=(7, "r3", 1), lsn=2000),
    ]  # fmt: skip
    figures = lake.load(lines).figures or {}
    assert (figures["has_moves"], figures["has_whole_rows"]) == (1, 1)
    assert lake.rows("current", "id, name") == [(3, "r1"), (7, "r3"), (8, "r2")]
    found = lake.rows("log", "_sequence_num, id, _source_operation, _operation, _moved_from is not null")  # fmt: skip
    first = (lake.number << 32) + 1
    assert [(number - first, *row) for number, *row in found if number >= first] == [
        (0, 1, "MOVE_OUT", "D", False), (0, 7, "MOVE_IN", "I", True),
        (1, 2, "DELETE", "D", False), (2, 8, "MOVE_IN", "I", True),
        (3, 3, "MOVE_IN", "U", True), (3, 7, "MOVE_OUT", "D", False),
        (4, 3, "MOVE_OUT", "N", False), (4, 7, "MOVE_IN", "I", True),
    ]  # fmt: skip
    again = replace(lake.batch([event("d", 6, before=(8,), lsn=3000)]), has_moves=True)
    outcome = replay(again, lake.targets(again), lake.log, lake.room())
    assert outcome.declined == "a transaction goes on in which a row has changed its key"
    keys_alone = lake.load([event("d", 9, before=(8,), lsn=4000)]).figures or {}
    assert (keys_alone["rows_logged"], keys_alone["has_whole_rows"]) == (1, 0)
