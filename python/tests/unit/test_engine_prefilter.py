"""Files of change events opened for all their tables: what is kept of a line, and for which table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tidemark.engine.events.lines import read_prefiltered
from tidemark.engine.events.load import Landed, PrefilteredFile, are_wrapped
from tidemark.engine.events.parsed import SPARK_ALONE, is_ours_sql
from tidemark.engine.events.prefilter import Prefiltered, Shape, prefilter
from tidemark.engine.header import stamp_of
from tidemark.engine.room import Room
from tidemark.spark.delta.prefilter import _Prefilter

SCHEMA = {"type": "struct", "fields": [{"field": "after", "fields": [{"field": "id", "type": "int32"}]}]}  # fmt: skip


def envelope(table: str = "orders", row: Any = None, **more: Any) -> dict[str, Any]:
    source = {"connector": "postgresql", "db": "shop", "schema": "public", "table": table}
    return {"before": None, "after": row or {"id": 1}, "source": source, "op": "c", **more}


def wrapped(value: Any, **more: Any) -> dict[str, Any]:
    return {"topic": "shop.public.orders", "key": {"id": 1}, "value": value, **more}


def captured(value: Any, number: int = 1, schema: Any = SCHEMA) -> dict[str, Any]:
    return wrapped({"schema": schema, "payload": value}, _seq=1, _ord=number, _id=f"{number}:é")


def prefiltered(folder: Path, lines: Sequence[Any], name: str = "events.jsonl.gz") -> Prefiltered:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines]  # fmt: skip
    text = "\n".join(texts).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    landed = Landed(str(path), 7, stamp_of(str(path)))
    room = Room(1, str(folder / "scratch"), 1 << 30)
    return prefilter(landed, str(folder / "kept.parquet"), room)


def rows(found: Prefiltered, table: str, columns: str = "num, line, landed_id, known_doubt") -> list[Any]:  # fmt: skip
    """What a table reads of a file, with the numbers of its lines."""
    with duckdb.connect() as db:
        read_prefiltered(db, [PrefilteredFile(found.path, 0, found.lines)], is_ours_sql([table]))
        return db.sql(f"select {columns} from lines order by num").fetchall()


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_forms(tmp_path: Path, name: str) -> None:
    """Whatever is around an envelope, a table reads the envelope, under the number of its line."""
    inner = json.dumps(envelope(), separators=(",", ":"))
    lines = [
        captured(envelope()),
        "",
        wrapped(envelope()),
        {"schema": SCHEMA, "payload": envelope()},
        envelope(),
        "  ",
        json.dumps(wrapped(envelope())),
    ]
    found = prefiltered(tmp_path, lines, name)
    assert (found.declined, found.lines) == (None, 5)
    assert rows(found, "orders") == [
        (1, inner, "1:é", None),
        *[(num, inner, None, None) for num in (3, 4, 5, 7)],
    ]
    by_schema = {shape.schema_text: (shape.first, shape.rows) for shape in found.shapes}
    assert by_schema == {json.dumps(SCHEMA, separators=(",", ":")): (1, 2), None: (3, 3)}


def test_a_table_reads_its_own(tmp_path: Path) -> None:
    """Of another table's lines nothing is read, whatever they hold; of those of no table all is."""
    lines = [
        captured(envelope("items"), 1),
        captured(envelope("orders"), 2),
        json.dumps(captured(envelope("items", {"id": 1.5}), 3)).replace("1.5", "1.50"),
        captured({**envelope("orders"), "op": None, "ddl": "create table orders (id int)"}, 4),
        captured(envelope("Orders"), 5),
        captured(envelope("orders"), 6),
    ]
    found = prefiltered(tmp_path, lines)
    assert found.lines == 6
    assert [num for (num, *_) in rows(found, "public.orders")] == [2, 4, 5, 6]
    doubts = {num: doubt for num, _, _, doubt in rows(found, "items")}
    assert doubts == {1: None, 3: SPARK_ALONE, 4: None}
    assert {shape.table for shape in found.shapes} == {'"items"', '"orders"', '"Orders"', None}


@pytest.mark.parametrize(
    "line",
    [
        "null",
        wrapped(None),
        captured(None),
        wrapped({"status": "BEGIN", "id": "31", "event_count": None, "ts_ms": 1}),
        captured({"status": "END", "id": "31", "event_count": 2, "ts_ms": 1}, schema={"type": "a"}),
        captured({**envelope(), "op": "m"}),
        wrapped({"ts_ms": 1772611200000}),
    ],
)
def test_what_is_no_change(tmp_path: Path, line: Any) -> None:
    found = prefiltered(tmp_path, [line, captured(envelope(), 2)])
    assert (found.lines, [shape.first for shape in found.shapes]) == (2, [2])


@pytest.mark.parametrize(
    "line",
    [
        wrapped(envelope(), payload=envelope()),
        wrapped(envelope(), op="c"),
        {**captured(envelope()), "schema": SCHEMA},
        wrapped({"schema": SCHEMA, "payload": envelope(), "more": 1}),
        wrapped(envelope(), _id=7),
        captured(envelope(), schema="a text"),
        '{"topic":"a","topic":"b","value":' + json.dumps(envelope()) + "}",
        '{"value":{"op":"c","op":"d","source":{"table":"orders"}}}',
        '{"value":{"op":"c","source":{"table":"orders","table":"items"}}}',
        wrapped(envelope("orders", {"id": float("nan")})),
        wrapped(envelope("orders", {"id": "\x00"})),
        '{"value":' + "[" * 500 + "]" * 500 + "}",
        wrapped(envelope("items", {"id": "x" * (1 << 20)})),
    ],
)
def test_what_is_odd_is_every_tables(tmp_path: Path, line: Any) -> None:
    """What readers may take for other than it is here is declined, whichever table is asked for."""
    found = prefiltered(tmp_path, [captured(envelope(), 1), line])
    assert found.declined or [doubt for *_, doubt in rows(found, "customers")] == [SPARK_ALONE]


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbf{}\n", b"{}\r\n", b'{"a":"\x00"}\n', b"\xff\n", b"{\n", b'{"a":1} {}\n']
)
def test_what_is_declined(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(text))
    landed = Landed(str(path), 0, stamp_of(str(path)))
    room = Room(1, str(tmp_path / "scratch"), 1 << 30)
    assert prefilter(landed, str(tmp_path / "kept.parquet"), room).declined
    assert not (tmp_path / "kept.parquet").exists()


@pytest.mark.parametrize("cut", [10, -8])
def test_a_broken_archive_is_declined(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(envelope()).encode() * 9)[:cut])
    landed = Landed(str(path), 0, stamp_of(str(path)))
    room = Room(1, str(tmp_path / "scratch"), 1 << 30)
    assert "a file is not read by it" in str(
        prefilter(landed, str(tmp_path / "kept"), room).declined
    )


def test_long_lines_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are whole, and their numbers rise, where a file is read in parts."""
    monkeypatch.setattr("tidemark.engine.events.prefilter._CHUNK", 1000)
    lines = [captured(envelope("orders", {"id": number}), number) for number in range(1, 50)]
    found = prefiltered(tmp_path, lines)
    read = rows(found, "orders", "num, json_extract(line, '$.after.id')::int")
    assert read == [(number, number) for number in range(1, 50)]


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        (envelope(), "a.jsonl", False),
        (envelope(), "a.jsonl.gz", True),
        (wrapped(envelope()), "a.jsonl", True),
        ({"schema": None, "payload": envelope()}, "a.jsonl", True),
        ([1], "a.jsonl", False),
    ],
)
def test_are_wrapped(tmp_path: Path, line: Any, name: str, expected: bool) -> None:
    path = tmp_path / name
    path.write_text(f"\n{json.dumps(line)}\n", encoding="utf-8")
    assert are_wrapped([Landed(str(path), 0, stamp_of(str(path)))]) is expected


def test_kept_of_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that lives for months holds the last files, and what all of them say once."""
    filtering = _Prefilter()
    monkeypatch.setattr("tidemark.spark.delta.prefilter._MOST_FILES", 3)

    def prefilter_one(_session: Any, file: Landed) -> Prefiltered:
        path = tmp_path / Path(file.path).name
        path.write_bytes(b"kept")
        shape = Shape(None, None, '"t"', "".join(["schema", " text"]), 1, 1)
        return Prefiltered(path=str(path), lines=1, shapes=(shape,))

    monkeypatch.setattr(filtering, "_prefilter", prefilter_one)
    session: Any = None
    for number in range(8):
        landed = Landed(f"/landing/{number}", number, (1, 1))
        assert not isinstance(filtering.prefiltered(session, [landed]), str)
    assert [Path(path).name for path, _ in filtering.known] == ["5", "6", "7"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["5", "6", "7"]
    texts = [found.shapes[0].schema_text for found in filtering.known.values()]
    assert all(text is texts[0] for text in texts)
    # those that are wanted together stay together
    wanted = [Landed(f"/landing/{number}", number, (1, 1)) for number in range(10, 15)]
    assert len(filtering.prefiltered(session, wanted)) == 5
    assert len(filtering.known) == 5
