"""What `tidemark rejects` tells of a row: the column, the value, the line, what has mended it."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tidemark.read.landed_lines import places_of
from tidemark.read.project import Entity
from tidemark.read.rejects import Reject, what_failed
from tidemark.read.show import show_rejects

CSV = Entity(
    "kunden",
    "cdc",
    "shop",
    "kunden",
    key=("id",),
    location="in/kunden_{yyyy}{mm}{dd}*.csv*",
    extract="full",
    options=(("sep", ";"),),
)
DATE = "2026-03-02"


def row(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


@pytest.mark.parametrize(
    ("reason", "payload", "told"),
    [
        ("cast_failed: Betrag", row(id="4", Betrag="zwölf"), ("cast_failed", "Betrag", "zwölf")),
        ("cast_failed: a: b", row(**{"a: b": "x"}), ("cast_failed", "a: b", "x")),
        ("null_value: name", row(id="4", name=None), ("null_value", "name", None)),
        ("duplicate_key", row(id="4", name="x"), ("duplicate_key", "id", "4")),
        ("unreadable", "4;x;y;z", ("unreadable", None, None)),
        ("cast_failed: phone", row(id="4", phone="***"), ("cast_failed", "phone", "***")),
        ("cast_failed: phone", "*** (withheld)", ("cast_failed", "phone", None)),
        ("cast_failed: n", row(payload={"op": "u", "before": {"n": 1}, "after": {"n": "x"}}), ("cast_failed", "n", "x")),
        ("cast_failed: _before_n", row(before={"n": 1.50}, after={"n": 2}), ("cast_failed", "_before_n", "1.5")),
        ("cast_failed: _before_n", row(_before_n="x", n="2"), ("cast_failed", "_before_n", "x")),
        ("something: else", row(id="4"), ("something: else", None, None)),
    ],
)  # fmt: skip
def test_what_failed(reason: str, payload: str, told: tuple[str | None, ...]) -> None:
    assert what_failed(CSV, reason, payload) == told


def places(root: Path, entity: Entity, *payloads: str) -> Any:
    return places_of(root, entity.landed, DATE, payloads)


def test_line__of_csv(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    first, second = (tmp_path / f"in/kunden_20260302{end}" for end in (".csv", "_2.csv.gz"))
    first.write_bytes(
        b'\xef\xbb\xbfID;Ort;Betrag\r\n1;"Bern;\nNord";x\r\n2;;"y ""z"""\r\n2;;"y ""z"""\r\n'
    )
    with gzip.open(second, "wb") as file:
        file.write("id;ort;betrag\n7;Zürich;12\n".encode())
    payloads = [
        row(id="2", Ort=None, Betrag='y "z"'),
        row(id="7", Ort="Zürich", Betrag="12"),
        row(id="2", Ort=None, Betrag='y "z"'),
        row(id="1", Ort="Bern;\nNord", Betrag="x"),
        row(id="9", Ort=None, Betrag="gone since"),
    ]
    one = "in/kunden_20260302.csv"
    assert places(tmp_path, CSV, *payloads) == [
        (one, 4),
        (f"{one[:-4]}_2.csv.gz", 2),
        (one, 5),
        (one, 2),
        None,
    ]


def test_line__of_a_row_that_the_body_changed(tmp_path: Path) -> None:
    """The key tells it, if one record alone has it."""
    (tmp_path / "in").mkdir()
    file = "in/kunden_20260302.csv"
    (tmp_path / file).write_text("id;sum\n1;1,200.50\n2;7\n2;8\n;9\n")
    found = places(tmp_path, CSV, row(id=1, sum=1200.5), row(id="2", sum="7.0"), row(id=None))
    assert found == [(file, 2), (file, None), (file, None)]


def test_line__masked_values_and_columns_of_the_model_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/kunden_20260302.csv").write_text("id;phone\n1;555\n2;666\n")
    entity = Entity(**{**CSV.__dict__, "options": (("SEP", ";"), ("header", "True"))})
    found = places(tmp_path, entity, row(id="2", phone="***"), "not a row")
    assert found == [("in/kunden_20260302.csv", 3), ("in/kunden_20260302.csv", None)]


def test_line__of_json_lines_of_an_unreadable_line_and_of_events(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file = tmp_path / "in/2026-03-02.jsonl"
    file.write_text('{"id": 1, "n": 1.50, "ok": true}\n{"id": 2, "n": null}\n{broken\n')
    entity = Entity(
        "a", "cdc", "s", "a", location="in/{business_date}.jsonl", extract="delta", format="json"
    )
    found = places(
        tmp_path, entity, row(id="1", n="1.50", ok="true"), row(id="2", n=None), "{broken"
    )
    assert [line for _, line in found] == [1, 2, 3]
    events = Entity("e", "cdc", "s", "e", location="in", extract="events", format="debezium")
    assert places_of(tmp_path, events.landed, None, ['{"id": 2, "n": null}']) == [
        ("in/2026-03-02.jsonl", 2)
    ]


@pytest.mark.parametrize("location", [None, "s3a://lake/{business_date}.csv", "in/nothing.csv"])
def test_line__where_there_is_no_file(tmp_path: Path, location: str | None) -> None:
    entity = Entity("a", "cdc", "s", "a", location=location, extract="full")
    assert places(tmp_path, entity, row(id="1")) == [None]


def test_shown__whole_at_80_columns() -> None:
    moment = dt.datetime(2026, 3, 5, 10, 12, tzinfo=dt.UTC)
    value = "zwölf " * 30
    rejects = [
        Reject("cast_failed", "Betrag", value.strip(), dt.date(2026, 3, 2), 7, "mended",
               {"commit_id": 9, "completed_at": moment}, "in/k.csv", 4, row(Betrag=value)),
        Reject("null_key", "id", None, dt.date(2026, 3, 2), 7, "open", None, None, None, "{}"),
        Reject("unreadable", None, None, None, 7, "undone", None, "in/k.csv", None, "a,b"),
    ]  # fmt: skip
    out = Console(file=io.StringIO(), width=80)
    show_rejects(rejects, out)
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert f"cast_failed  Betrag: {value.strip()}\n" in said
    assert "    2026-03-02, commit 7\n    in/k.csv, line 4\n" in said
    assert "    mended by commit 9 at 2026-03-05 10:12 UTC\n" in said
    assert "null_key  id: NULL\n" in said and "unreadable\n    commit 7\n    in/k.csv\n" in said
    assert "its load does not count" in said
