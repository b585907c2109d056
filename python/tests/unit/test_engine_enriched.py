"""Enriched events by the engine in the workers, without Spark: the oracle's tables, or a reason."""

from __future__ import annotations

import gzip
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.enriched_batches import ROOM, STEPS, batch_of_file, shelves_in
from tests.functional.enriched_events import assert_same_events, event_line, expected_events
from tests.functional.event_dedup_oracle import Batch as BatchColumns
from tests.functional.event_dedup_oracle import Loads, Steps
from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.engine.enriched import task
from tidemark.engine.enriched.batch import batch_of
from tidemark.engine.enriched.covers import micros_of, why_not_enriched
from tidemark.engine.enriched.entities import ODD, Reader, Undecided
from tidemark.engine.enriched.lines import count_lines
from tidemark.engine.header import stamp_of
from tidemark.shred.enriched import CONTEXTS_SCHEMA, TYPES, to_json_line

CFG = {
    "location": "landing",
    "manifest_ttl": "180 days",
    "deduplicate": [],
    "fingerprint_ignore": [],
    "most_rejects": 1,
}
PRODUCT = "iglu:com.acme/product/jsonschema/1-0-2"
ADDRESS = "com.acme\tproduct\tjsonschema\t1-0-2\t1"


# -- what is taken


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, None),
        ({"manifest_ttl": "6 months"}, "manifest_ttl is 6 months, which are not of one length"),
        ({"partition_by": ["app_id"]}, "it has partition_by"),
        ({"cluster_by": ["app_id"]}, "it has liquid_clustered_by"),
        ({"table_properties": {"a": "b"}}, "it has tblproperties"),
        ({"location": None}, "it has no location"),
    ],
)
def test_covers(changed: dict[str, Any], why: str | None) -> None:
    assert why_not_enriched({**CFG, **changed}) == why


def test_covers__lengths_of_time() -> None:
    assert [micros_of(text) for text in ("90 minutes", "1 hour", "2 days", "3 weeks", "1 year")] == [
        5_400_000_000, 3_600_000_000, 172_800_000_000, 1_814_400_000_000, None,
    ]  # fmt: skip


def test_batch__of_files_as_spark_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "a b%.tsv"
    path.write_text("x")
    size, written = stamp_of(str(path))
    file = {
        "_file": f"file://{tmp_path}/a%20b%25.tsv",
        "_file_size": size,
        "_file_micros": written // 1000,
    }
    batch = batch_of(CFG, [file], 7, 17)
    assert not isinstance(batch, str)
    assert (batch.files, batch.stamps) == ((str(path),), ((size, written // 1_000_000),))
    assert (batch.commit_id, batch.shortest_doubles, batch.looks_across) == (7, False, False)
    for name in ("s3a://lake/a.tsv", f"file://{tmp_path}/gone.tsv", f"file://{tmp_path}/a%2A.tsv"):
        assert isinstance(batch_of(CFG, [{**file, "_file": name}], 7, 17), str)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", 0),
        (b"a\nb", 2),
        ("ü\n\n".encode(), 2),
        (b"a\r\nb\n", "a file has a carriage return"),
        (b"\xef\xbb\xbfa\n", "a file begins with a byte order mark"),
        (b"a\xff\n", "a file has a line that is no UTF-8"),
        (b"a\xc3", "a file has a line that is no UTF-8"),
        (b"a\0\n", "a file has a control character that readers take for their own"),
        (b"a" * (1 << 21) + b"\nb\n", "a file has a very long line"),
    ],
)
def test_lines(tmp_path: Path, data: bytes, found: int | str) -> None:
    for name, stored in (("a.tsv", data), ("a.tsv.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(stored)
        assert count_lines((str(tmp_path / name),)) == found


def test_lines__of_a_file_that_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1000)[:-12])
    assert "a.gz cannot be read" in str(count_lines((str(path),)))


# -- entities

SHOWN = {
    '{"b":1,"a":"x"}': '{"a":"x","b":1}',
    "{}": "{}",
    '{"z":{"d":[1,{"y":null,"x":true}],"c":"é🙂"},"a":[]}': '{"a":[],"z":{"c":"é🙂","d":[1,{"x":true,"y":null}]}}',
    '{ "b" : 1.50, "a" : -0 }': '{"a":0,"b":1.5}',
    '{"n":1.0,"m":0.00001,"l":123456789012345678901234567890}': '{"l":123456789012345678901234567890,"m":0.00001,"n":1}',
    '{"n":0.1000000000000000055}': '{"n":0.1000000000000000055}',
    '{"s":"\\u00e9\\u001f\\/\\n\\ud83d\\ude42"}': '{"s":"é\\u001F/\\n🙂"}',
    '{"\uffff":2,"\U0001f642":1}': '{"\U0001f642":1,"\uffff":2}',
    '{"s":"a:1e5,"}': '{"s":"a:1e5,"}',
    '{"a":2.0,"b":[-3.0,4.0,5.05],"c":{"d":60.0}}': '{"a":2,"b":[-3,4,5.05],"c":{"d":60}}',
    '{"n":-0.0,"m":0.0}': '{"m":0,"n":0}',
    '{"s":"a:1.0,","\\\\":2.0,"t":"\\",3.0,"}': '{"\\\\":2,"s":"a:1.0,","t":"\\",3.0,"}',
    '{"n":1234567890123456.0,"m":12345678901234567890.0}': '{"m":12345678901234567890,"n":1234567890123456}',
    "[2,1]": "[2,1]",
    "null": "null",
}


def contexts_of(data: str, uri: str = PRODUCT) -> str:
    return f'{{"schema":"{CONTEXTS_SCHEMA}","data":[{{"schema":"{uri}","data":{data}}}]}}'


def read(column: str, text: str, *, shortest_doubles: bool = False) -> list[tuple[str, str]] | None:
    """The entities of a text, and that the shorter way gives what the longer one does, if anything."""
    given, reader = text.encode(), Reader(shortest_doubles)
    is_plain = not duckdb.execute("select regexp_matches(?, ?)", [text, ODD]).fetchone()[0]
    found = reader.read(column, given, is_plain)
    if is_plain and found:
        assert reader._plain(column, given) in (None, reader._any(column, text))
    return found and [(address.decode(), data.decode()) for address, data in found]


@pytest.mark.parametrize("data", SHOWN)
def test_entities(data: str) -> None:
    assert read("contexts", contexts_of(data)) == [(ADDRESS, SHOWN[data])]


def test_entities__of_a_self_describing_event() -> None:
    text = contexts_of("{}").replace("contexts/jsonschema/1-0-1", "unstruct_event/jsonschema/1-0-0")
    text = text.replace("[", "").replace("]", "")
    assert read("unstruct_event", text) == [(ADDRESS, "{}")]
    assert read("contexts", text) is None


@pytest.mark.parametrize(
    "text",
    ["x", "{}", "[]", contexts_of("{}x"), contexts_of("NaN"), contexts_of("{}", "com.acme/a/b/1-0-0"), contexts_of("{}") + "x",
     contexts_of('{"a":[1,]}'), contexts_of('{"a":1,"a":2}')],
)  # fmt: skip
def test_entities__that_are_none(text: str) -> None:
    assert read("contexts", text) is None


@pytest.mark.parametrize(
    "text",
    [contexts_of('{"s":"\\ud83d"}'), contexts_of("[" * 300 + "]" * 300), contexts_of('{"n":1e3}'),
     contexts_of("{}").replace('{"schema"', '{"schema":"x","schema"', 1), contexts_of("{}", PRODUCT.replace("1-0-2", "12345678901-0-0"))],
)  # fmt: skip
def test_entities__that_are_left_to_spark(text: str) -> None:
    with pytest.raises(Undecided):
        read("contexts", text)


def test_entities__doubles_of_a_newer_java() -> None:
    found = read("contexts", contexts_of('{"n":1e3}'), shortest_doubles=True)
    assert found == [(ADDRESS, '{"n":1000.0}')]


# -- batches


def rows_of(folder: Path, files: Any) -> list[dict[str, Any]]:
    return [
        row
        for file in files
        for row in pq.read_table(folder / file.path, partitioning=None).to_pylist()
    ]


def test_batches_as_the_oracle_has_them(tmp_path: Path) -> None:
    spec = EventsSpec(
        300, 3, natural_in_batch=5, natural_cross_batch=8, synthetic_in_batch=5, synthetic_cross_batch=5, late=5, bad=6,
        no_fingerprint=20, hot_ids=1, hot_copies=30, seed=3,
    )  # fmt: skip
    loads, claims, stored = Loads(), [], []
    for number, path in enumerate(write_events(spec, str(tmp_path / "{batch}.tsv.gz")).files):
        folder = tmp_path / str(number)
        outcome = task.shred(
            batch_of_file(path, commit_id=number), shelves_in(folder, tuple(claims)), ROOM
        )
        assert outcome.declined is None
        lines = gzip.decompress(path.read_bytes()).decode().rstrip("\n").split("\n")
        loads.load(BatchColumns(path.stem, tuple(lines)))
        counts = loads.outcomes[path.stem].counts
        assert outcome.figures and outcome.figures["rows_read"] == counts["read"]
        assert outcome.kinds == {
            kind: count
            for kind, count in counts.items()
            if count and kind not in ("read", "atomic")
        }
        stored += rows_of(folder / "events", outcome.events)
        rejects = rows_of(folder / "rejects", outcome.rejects)
        rejected = [lines[place] for place in loads.outcomes[path.stem].rejects]
        assert sorted(row["_raw_payload"] for row in rejects) == sorted(rejected)
        reasons = Counter(row["_reject_reason"] for row in rejects)
        assert len(outcome.reasons) == min(6, len(reasons))
        assert all(reasons[reason] == count for reason, count in outcome.reasons)
        claims += [str(folder / "claims" / file.path) for file in outcome.claims]
        assert {(one["vendor"], one["model"]) for _, one in outcome.entities} >= {("com.acme", "1")}
    for row in stored:
        for column, kind in TYPES.items():
            if kind == "timestamp" and row[column] is not None:
                row[column] = row[column].replace(tzinfo=None)
    assert_same_events(stored, expected_events(loads.atomic))


@pytest.mark.parametrize("steps", [STEPS, ("natural_cross_batch", "synthetic_cross_batch")])
def test_claims_are_looked_up_by_the_time_of_the_event(
    tmp_path: Path, steps: tuple[str, ...]
) -> None:
    """Claims hold for a day here: a late file, and a clock that was ahead, in one batch with events of today."""
    now, later, ahead = (
        f"{day} 10:00:00.000" for day in ("2026-03-04", "2026-03-06", "2027-09-01")
    )

    def line(number: int, etl: str | None, mark: str = "f") -> str:
        return event_line(number, etl_tstamp=etl, event_fingerprint=mark)

    batches = [
        [line(number, now) for number in range(1, 5)],
        [line(1, now), line(1, later), line(2, now, "g"), line(3, later), line(4, None), line(5, ahead)],
        [line(1, later), line(2, later), line(3, later), line(4, now, "g"), line(5, ahead), line(5, now, "g")],
    ]  # fmt: skip
    loads = Loads(Steps(STEPS[0] in steps, STEPS[2] in steps, True, True), ttl=timedelta(days=1))
    claims: list[str] = []
    for number, lines in enumerate(batches):
        folder = tmp_path / str(number)
        batch = batch_with(folder, *lines, commit_id=number, deduplicate=frozenset(steps))
        outcome = task.shred(batch, shelves_in(folder, tuple(claims)), ROOM)
        assert outcome.declined is None
        told = loads.load(BatchColumns(str(number), tuple(lines)))
        assert told is not None
        wanted = {k: n for k, n in told.counts.items() if k not in ("read", "atomic")}
        assert outcome.kinds == wanted, number
        found = rows_of(folder / "claims", outcome.claims)
        made = [claim for claim in loads.claims if claim.batch == str(number)]
        assert sorted((row["event_id"], row["fingerprint"]) for row in found) == sorted(
            (claim.event_id, claim.fingerprint) for claim in made
        )
        claims += [str(folder / "claims" / file.path) for file in outcome.claims]


def batch_with(folder: Path, *lines: str, **changes: Any) -> Any:
    folder.mkdir(exist_ok=True)
    path = folder / "lines.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return batch_of_file(path, **changes)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (event_line(1, txn_id="+5"), "a line has a value of a form that is read by Spark alone"),
        (to_json_line({"platform": "web"}), "a line has JSON in place of fields"),
        (
            event_line(1, derived_contexts=contexts_of('{"n":1e3}')),
            "a line has a double in JSON, which an older Java prints otherwise",
        ),
        ("x", "it has more lines that cannot be used than it may"),
    ],
)
def test_batch__declined(tmp_path: Path, line: str, why: str) -> None:
    batch = batch_with(tmp_path / "in", event_line(0), line, most_rejects=0.49)
    outcome = task.shred(batch, shelves_in(tmp_path / "out"), ROOM)
    assert outcome.declined == why
    assert not [*(tmp_path / "out").rglob("*.parquet")]


def test_batch__without_an_event(tmp_path: Path) -> None:
    for number, lines in enumerate(((), ("x", ""))):
        out = tmp_path / f"out{number}"
        outcome = task.shred(batch_with(tmp_path / "in", *lines), shelves_in(out), ROOM)
        assert outcome.declined is None
        assert outcome.figures == {
            "rows_read": len(lines),
            "rows_rejected": len(lines),
            "etl_micros": None,
            "first_etl_micros": None,
        }
        assert (outcome.events, outcome.entities, outcome.claims) == ((), (), ())
        assert sum(file.rows for file in outcome.rejects) == len(lines)


def test_batch__file_changes(tmp_path: Path) -> None:
    batch = batch_with(tmp_path / "in", event_line(1))
    batch_with(tmp_path / "in", event_line(1), event_line(2))
    outcome = task.shred(batch, shelves_in(tmp_path / "out"), ROOM)
    assert outcome.declined == "a file was written while it was read"


def test_batch__that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise OSError("no room")

    monkeypatch.setattr(task, "claimed_sql", broken)
    batch = batch_with(tmp_path / "in", event_line(1, [(PRODUCT, {})]), "x")
    with pytest.raises(OSError, match="no room"):
        task.shred(batch, shelves_in(tmp_path / "out"), ROOM)
    assert not [*(tmp_path / "out").rglob("*.parquet")]


def test_batch__bounds_of_files(tmp_path: Path) -> None:
    lines = [event_line(number, app_id="x" * 40, derived_tstamp=None) for number in (1, 2)]
    outcome = task.shred(batch_with(tmp_path / "in", *lines), shelves_in(tmp_path / "out"), ROOM)
    (file,) = outcome.events
    assert file.statistics["numRecords"] == 2
    least, greatest = file.statistics["minValues"], file.statistics["maxValues"]
    assert least["collector_tstamp"] == greatest["collector_tstamp"] == "2026-03-04T09:30:00.000Z"
    assert (least["_commit_id"], greatest["_commit_id"]) == (7, 7)
    assert "app_id" not in least
    assert file.statistics["nullCount"]["derived_tstamp"] == 2
