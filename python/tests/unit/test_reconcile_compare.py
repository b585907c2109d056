"""Finding where two sides differ, and what makes them equal, without a database."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.capture.config import CaptureConfig
from tidemark.capture.events import read_event
from tidemark.capture.files import LandingError
from tidemark.capture.state import CaptureState, settled_at, settled_before
from tidemark.replicator.backlog import read_backlog
from tidemark.replicator.reconcile.compare import (
    Comparison,
    Figure,
    KeyDifference,
    Row,
    RowDigest,
    Seen,
    compare_buckets,
    compare_digests,
    differences,
)
from tidemark.replicator.reconcile.dialects import Scope
from tidemark.replicator.reconcile.forms import Column, Pairing
from tidemark.replicator.reconcile.repair import Events, corrections, land
from tidemark.replicator.reconcile.report import exit_code, render_json
from tidemark.replicator.reconcile.run import Example, TableResult

ID = Column("id", "id", "integer", "integer", "int")
NAME = Column("name", "Name", "text", "text", "string")


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class Rows:
    """A side that has its rows in memory, and counts what is read of it."""

    def __init__(self, rows: Sequence[Sequence[str | None]], keyed: bool = True) -> None:
        self.all = [
            Row(md5(str(row[0]) if keyed else str(row)), md5(str(row)), list(row)) for row in rows
        ]
        self.largest = 0
        self.asked = 0

    def _of(self, scope: Scope) -> list[Row]:
        if scope.residues is None:
            return self.all
        return [row for row in self.all if int(row.key[:15], 16) % scope.modulus in scope.residues]

    def figures(self, modulus: int, scope: Scope) -> dict[int, Figure]:
        self.asked += 1
        found: dict[int, Figure] = {}
        for row in self._of(scope):
            bucket = int(row.key[:15], 16) % modulus
            known = found.get(bucket, Figure(0, 0))
            found[bucket] = Figure(known.rows + 1, known.total + int(row.row[:15], 16))
        return found

    def digests(self, scope: Scope) -> list[RowDigest]:
        counts = Counter((row.key, row.row) for row in self._of(scope))
        self.largest = max(self.largest, len(counts))
        return [RowDigest(key, row, count) for (key, row), count in counts.items()]

    def rows(self, keys: Sequence[str]) -> list[Row]:
        return [row for row in self.all if row.key in keys]


def found_by(source: Rows, here: Rows, keyed: bool = True, most: int = 50) -> list[KeyDifference]:
    compared = compare_buckets(source, here, 8)
    batches = differences(source, here, 8, compared.differing, keyed, most)
    return [one for batch in batches for one in batch]


def test_equal_sides__nothing_is_read() -> None:
    rows = [[str(number), "x"] for number in range(1000)]
    source, here = Rows(rows), Rows(rows[::-1])
    assert compare_buckets(source, here, 8) == Comparison(1000, 1000, 8, {})
    assert (source.largest, here.largest) == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_random_damage__exactly_these_keys(seed: int) -> None:
    dice = random.Random(seed)
    rows = {str(number): [str(number), dice.choice("abc")] for number in range(2000)}
    damaged = dict(rows)
    lost = dice.sample(sorted(rows), 7)
    for key in lost:
        del damaged[key]
    changed = dice.sample(sorted(damaged), 5)
    for key in changed:
        damaged[key] = [key, None]
    more = [str(number) for number in range(5000, 5004)]
    for key in more:
        damaged[key] = [key, "new"]
    source, here = Rows(list(rows.values())), Rows(list(damaged.values()))
    found = found_by(source, here)
    kinds = {one.key: one.kind for one in found}
    assert len(found) == len(kinds)
    assert kinds == {
        **{md5(key): "missing" for key in lost},
        **{md5(key): "different" for key in changed},
        **{md5(key): "surplus" for key in more},
    }
    # no read is larger than what was allowed
    assert max(source.largest, here.largest) <= 50


def test_without_key__copies_are_counted() -> None:
    source = Rows([["x"], ["x"], ["x"], ["y"], ["z"]], keyed=False)
    here = Rows([["x"], ["y"], ["y"], ["z"]], keyed=False)
    found = {one.key: (one.kind, one.count) for one in found_by(source, here, keyed=False)}
    assert found == {md5("['x']"): ("missing", 2), md5("['y']"): ("surplus", 1)}


def test_equal_rows_without_end__are_not_split_for_ever() -> None:
    source, here = Rows([["x"]] * 200, keyed=False), Rows([["x"]] * 199, keyed=False)
    assert [one.count for one in found_by(source, here, keyed=False)] == [1]
    assert source.asked == 2


def test_equal_rows_among_others__are_parted_from_them() -> None:
    rows = [["x"]] * 200 + [[str(number)] for number in range(2000)]
    source, here = Rows(rows, keyed=False), Rows(rows[1:-1], keyed=False)
    found = {one.key for one in found_by(source, here, keyed=False)}
    assert found == {md5("['x']"), md5("['1999']")}
    assert max(source.largest, here.largest) <= 50


def test_copies_of_a_key__are_a_difference() -> None:
    here = [RowDigest("k", "a", 2)]
    assert compare_digests([RowDigest("k", "a", 1)], here, keyed=True)[0].kind == "different"


def test_seen__only_what_differed_before() -> None:
    one, two = (KeyDifference(md5(key), "missing", {"a": 1}, {}) for key in "ab")
    seen = Seen()
    seen.add([one])
    assert seen.of([one, two]) == [one]


# --- repair


def row(key: str, *texts: str | None) -> Row:
    return Row(md5(key), md5(str(texts)), [key, *texts])


@pytest.mark.parametrize(
    ("source", "here", "keyed", "anew", "operations"),
    [
        ([row("1", "a")], [], True, False, "c"),
        ([], [row("1", "a")], True, False, "d"),
        ([], [row("1", "a")] * 2, True, False, "d"),
        ([row("1", "a")], [row("1", "b")], True, False, "u"),
        ([row("1", "a")], [row("1", "b")], True, True, "dc"),
        ([row("1", "a")], [row("1", "a")], True, False, ""),
        ([row("1", "a")], [row("1", "a")] * 2, True, False, "u"),
        ([row("1", "a")], [], True, True, ""),
        ([row("1")] * 3, [row("1")], False, False, "cc"),
        ([row("1")], [row("1")] * 3, False, False, "dd"),
        ([row("1")], [row("1")] * 3, False, True, ""),
    ],
)
def test_corrections(
    source: list[Row], here: list[Row], keyed: bool, anew: bool, operations: str
) -> None:
    found = corrections(source, here, keyed=keyed, anew=anew)
    assert "".join(one.op for one in found) == operations


def config(**more: Any) -> CaptureConfig:
    connection = {"host": "db", "database": "crm", "user": "u", "password": {"env": "P"}}
    settings = {"connector": "postgresql", "connection": connection, **more}
    return CaptureConfig.from_dict("shop", settings)


def repaired(
    landing: Path, source: Rows, here: Rows, keys: int = 1, **settings: Any
) -> tuple[int, Events]:
    given = config(**settings)
    pairing = Pairing([ID, NAME], keys)
    events = Events(given, "crm", "public.people", pairing, source, here)
    state = CaptureState(landing)
    batch = found_by(source, here, keys > 0)
    return land(state, given, events, [batch]), events


def lines(landing: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(landing.glob("ev-*"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    state = CaptureState(tmp_path)
    state.open()
    state.mark_snapshot()
    state.close()
    return tmp_path


def test_land__files_as_capture_writes_them(landing: Path) -> None:
    (landing / "ev-0000000001.jsonl.gz").write_bytes(
        gzip.compress(b'{"topic":"t","key":null,"value":null,"_seq":1,"_ord":1,"_id":"7:90:c"}\n')
    )
    source = Rows([["1", "a"], ["2", "b"], ["3", None]])
    here = Rows([["2", "x"], ["3", None], ["4", "d"]])
    count, events = repaired(landing, source, here, flush={"rows": 2})
    assert (count, events.skipped) == (3, 0)
    found = lines(landing)[1:]
    assert [(line["_seq"], line["_ord"], line["_id"]) for line in found] == [
        (2, 1, "repair:2:1"),
        (2, 2, "repair:2:2"),
        (3, 1, "repair:3:1"),
    ]
    values = {line["key"]["id"]: line["value"] for line in found}
    assert {
        key: (value["op"], value["before"], value["after"]) for key, value in values.items()
    } == {
        "1": ("c", None, {"id": "1", "Name": "a"}),
        "2": ("u", None, {"id": "2", "Name": "b"}),
        "4": ("d", {"id": "4"}, None),
    }
    # each is known by a name of its own, and read as one of the table
    assert len({value["source"]["name"] for value in values.values()}) == 3
    event = read_event(found[0]["topic"], json.dumps(found[0]["value"], separators=(",", ":")))
    assert (event.kind, event.table, event.snapshot) == ("row", "public.people", "")
    backlog = read_backlog(config(), landing, {}, 1)["public.people"]
    assert (backlog.count, backlog.key) == (3, ["id"])


@pytest.mark.parametrize("is_settled", [settled_before(91), settled_at(1, 1)])
def test_land__capture_still_recognises_what_it_landed(landing: Path, is_settled: Any) -> None:
    lines = b"".join(
        b'{"topic":"t","key":null,"value":null,"_seq":1,"_ord":%d,"_id":"%s"}\n' % (number, name)
        for number, name in enumerate((b"7:80:c", b"end:7:90"), start=1)
    )
    (landing / "ev-0000000001.jsonl.gz").write_bytes(gzip.compress(lines))
    repaired(landing, Rows([["1", "a"]]), Rows([]))
    landed = CaptureState(landing).read_landed(is_settled)
    assert landed.number == 2
    assert landed.identities == {"7:80:c", "end:7:90", "repair:2:1"}


def test_land__not_before_the_snapshot_has_ended(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="snapshot"):
        repaired(tmp_path, Rows([["1", "a"]]), Rows([]))
    assert lines(tmp_path) == []


def test_land__not_beside_a_capture(landing: Path) -> None:
    capture = CaptureState(landing)
    capture.open()
    with pytest.raises(LandingError, match="another capture"):
        repaired(landing, Rows([["1", "a"]]), Rows([]))
    capture.close()


def test_without_key__whole_rows(landing: Path) -> None:
    source = Rows([["1", "a"], ["1", "a"]], keyed=False)
    here = Rows([["1", "a"], ["2", None]], keyed=False)
    repaired(landing, source, here, keys=0)
    values = {line["value"]["op"]: line for line in lines(landing)}
    assert values["c"]["key"] is None
    assert values["c"]["value"]["after"] == {"id": "1", "Name": "a"}
    assert values["d"]["value"]["before"] == {"id": "2", "Name": None}


def test_values_that_the_copy_cannot_hold__are_skipped(landing: Path) -> None:
    born = Column("born", "born", "date", "date", "date")
    events = Events(
        config(),
        "crm",
        "public.people",
        Pairing([ID, born], 1),
        *(Rows([["1", "infinity"], ["2", "2024-02-29"]]), Rows([])),
    )
    batch = found_by(Rows([["1", "infinity"], ["2", "2024-02-29"]]), Rows([]))
    assert [event["after"] for event in events.of(batch)] == [{"id": "2", "born": "2024-02-29"}]
    assert events.skipped == 1


# --- what is printed


def test_exit_codes() -> None:
    equal = TableResult("a", "a")
    different = TableResult("b", "b", different=1)
    unknown = TableResult("c", "c", error="gone")
    assert exit_code([]) == exit_code([equal]) == 0
    assert exit_code([equal, different]) == 1
    assert exit_code([unknown, different]) == 2


def test_render_json() -> None:
    result = TableResult("a", "m", examples=[Example("different", {"id": "1"}, {"n": ("1", None)})])
    content = json.loads(render_json("shop", [result], [result]))
    assert content["equal"] and content["tables"] == content["before_repair"]
    assert content["tables"][0]["examples"] == [
        {"kind": "different", "key": {"id": "1"}, "columns": {"n": ["1", None]}}
    ]


@pytest.mark.parametrize(("settle", "keyless"), [(0, True), (0, False), (1, True)])
def test_repair__of_a_table_without_key_captures_first(
    settle: float, keyless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is repaired and comes by capture afterwards would be there twice."""
    pytest.importorskip("jpype")
    from tidemark.replicator.reconcile import work
    from tidemark.replicator.reconcile.run import Options, TableResult

    done: list[str] = []

    class Reconciler:
        def __init__(self, *_: Any) -> None:
            """Nothing."""

        def compare(self) -> list[TableResult]:
            done.append("compare")
            return [TableResult("public.logs", "shop__logs", missing=1)]

        def is_keyless(self, result: TableResult) -> bool:
            return keyless

        def look_again(self, results: list[TableResult]) -> list[TableResult]:
            done.append("look again")
            return results

        def repair(self, *_: Any) -> list[TableResult]:
            done.append("repair")
            return []

    service = SimpleNamespace(run_once=lambda: done.append("capture"), apply_landed=None)
    operated = SimpleNamespace(
        config=None,
        project=None,
        landing=tmp_path,
        start_java=lambda _: SimpleNamespace(database="shop"),
        run_options=lambda _: None,
    )
    monkeypatch.setattr(work, "Reconciler", Reconciler)
    monkeypatch.setattr(work, "connect", lambda *_: nullcontext())
    monkeypatch.setattr(work, "known_models", lambda _: {})
    monkeypatch.setattr(work, "model_folder", lambda *_: None)
    monkeypatch.setattr(work, "prepare_environment", lambda _: None)
    monkeypatch.setattr(work.Invoker, "quiet", lambda *_: SimpleNamespace(ask=None))
    monkeypatch.setattr(work.time, "sleep", lambda _: None)
    at_work: Any = work.Work(operated, None, Options(), service, lambda _: None)  # type: ignore[arg-type]
    at_work.run(settle=settle, repair=True)
    first = ["capture", "look again"] if settle or keyless else []
    assert done == ["compare", *first, "repair"]
