"""The generator of enriched events: exact counts, same bytes, lines that are what the truth says. No JVM."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark.datagen.cli import datagen
from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import KINDS, EventsSpec
from tidemark.errors import ConfigError
from tidemark.shred.enriched import (
    COLUMNS,
    ENTITIES,
    LEFT_OUT,
    Event,
    fingerprint,
    parse_json_line,
    parse_line,
    parse_timestamp,
    problems,
    read_values,
)

SPEC = EventsSpec(
    events=400,
    batches=4,
    natural_in_batch=5,
    natural_cross_batch=4,
    synthetic_in_batch=3,
    synthetic_cross_batch=2,
    late=10,
    bad=4,
    no_fingerprint=25,
    hot_ids=2,
    hot_copies=9,
    seed=3,
)

BatchColumns = list[tuple[dict[str, Any], str]]
"""What the truth says of a line, and the line."""


def generate(folder: Path, spec: EventsSpec = SPEC, name: str = "{batch}.tsv") -> BatchColumns:
    truth = folder / "truth.jsonl"
    files = write_events(spec, str(folder / name), truth).files
    lines = {}
    for file in files:
        content = file.read_bytes()
        text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
        assert text.endswith("\n") or not text
        for number, line in enumerate(text.split("\n")[:-1], start=1):
            lines[file.name, number] = line
    records = [json.loads(line) for line in truth.read_text().splitlines()]
    assert [(record["file"], record["line"]) for record in records] == list(lines)
    return list(zip(records, lines.values(), strict=True))


def parsed(told: BatchColumns) -> list[tuple[dict[str, Any], Event]]:
    return [(record, parse_line(line)) for record, line in told if record["kind"] != "bad"]


def test_counts_are_exact(tmp_path: Path) -> None:
    kinds = Counter(record["kind"] for record, _ in generate(tmp_path))
    # The 8 further lines of each of 2 hot ids: 4 with other content, each of them twice.
    assert kinds == {
        "original": 400,
        "natural_in_batch": 20 + 2 * 4,
        "natural_cross_batch": 16,
        "synthetic_in_batch": 12 + 2 * 4,
        "synthetic_cross_batch": 8,
        "bad": 16,
    }
    assert set(kinds) == set(KINDS)


@pytest.mark.parametrize("name", ["{batch}.tsv", "{batch}.jsonl"])
def test_lines_are_what_the_truth_says(name: str, tmp_path: Path) -> None:
    read = parse_json_line if name.endswith("jsonl") else parse_line
    for record, line in generate(tmp_path, name=name):
        try:
            event: Event | None = read(line)
        except ValueError:
            event = None
        if record["kind"] == "bad":
            assert event is None or problems(event)
        else:
            assert event is not None and problems(event) == []
            assert event["event_id"] == record["event_id"]
            assert event["event_fingerprint"] == record["fingerprint"]


def values_of(event: Event) -> dict[str, Any]:
    values = dict(zip(COLUMNS, read_values(event)[0], strict=True))
    return values | {c: json.loads(values[c] or "null") for c in ENTITIES}


def test_tsv_and_json_hold_the_same(tmp_path: Path) -> None:
    as_tsv, as_json = generate(tmp_path), generate(tmp_path, name="{batch}.ndjson.gz")
    for (record, line), (_, other) in zip(as_tsv, as_json, strict=True):
        if record["kind"] != "bad":
            assert values_of(parse_line(line)) == values_of(parse_json_line(other))


def test_copies(tmp_path: Path) -> None:
    by_event: dict[int, BatchColumns] = defaultdict(list)
    for record, line in generate(tmp_path):
        if record["kind"] != "bad":
            by_event[record["event"]].append((record, line))
    ids = set()
    for told in by_event.values():
        events = parsed(told)
        assert len({event["event_id"] for _, event in events}) == 1
        ids.add(events[0][1]["event_id"])
        by_variant = defaultdict(set)
        for record, event in events:
            by_variant[record["variant"]].add(fingerprint(event))
        # One content, one fingerprint, found or computed; other content, another one.
        assert all(len(found) == 1 for found in by_variant.values())
        assert len(set().union(*by_variant.values())) == len(by_variant)
        home = min(record["batch"] for record, _ in told if record["kind"] == "original")
        for record, _ in told:
            assert (record["batch"] > home) == record["kind"].endswith("cross_batch")
    assert len(ids) == SPEC.events


def test_natural_copies__byte_for_byte_or_by_another_request(tmp_path: Path) -> None:
    told = generate(tmp_path)
    first = {r["event"]: line for r, line in told if r["kind"] == "original"}
    copies = [(r, line) for r, line in told if r["kind"] == "natural_cross_batch"]
    same = [line for record, line in copies if line == first[record["event"]]]
    assert len(same) == len(copies) / 2
    for record, line in copies:
        before, after = parse_line(first[record["event"]]), parse_line(line)
        changed = {column for column in COLUMNS if before[column] != after[column]}
        assert changed <= {*LEFT_OUT}
        assert not changed or "etl_tstamp" in changed


def test_times(tmp_path: Path) -> None:
    waits = []
    for record, event in parsed(generate(tmp_path)):
        etl, collector = (parse_timestamp(event[f"{c}_tstamp"]) for c in ("etl", "collector"))
        created, sent = (parse_timestamp(event[f"dvce_{c}_tstamp"]) for c in ("created", "sent"))
        assert etl and collector and created and sent
        assert collector < etl
        if record["kind"] == "original":
            waits.append((sent - created).total_seconds())
            assert etl == SPEC.etl_tstamp(record["batch"] - 1)
    assert sum(wait > 3000 for wait in waits) == 40


def test_no_fingerprint(tmp_path: Path) -> None:
    told = generate(tmp_path)
    missing = {r["event"] for r, _ in told if r["kind"] == "original" and not r["fingerprint"]}
    assert len(missing) == 100
    for record, _ in told:
        if record["kind"] != "bad":
            assert (record["fingerprint"] is None) == (record["event"] in missing)


def test_entities(tmp_path: Path) -> None:
    kinds, numbers, schemas = set(), set(), set()
    for _, event in parsed(generate(tmp_path)):
        kinds.add((event["event"], event["event_name"]))
        contexts = json.loads(event["contexts"] or '{"data": []}')["data"]
        derived = json.loads(event["derived_contexts"] or '{"data": []}')["data"]
        numbers.add(len(contexts))
        schemas |= {context["schema"].removeprefix("iglu:") for context in contexts + derived}
    assert {kind for kind, _ in kinds} == {"page_view", "page_ping", "struct", "unstruct"}
    assert {"link_click", "checkoutStep"} < {name for _, name in kinds}
    assert numbers == {0, 1, 2, 3, 4}
    assert {"com.acme/product/jsonschema/1-0-0", "com.acme/product/jsonschema/1-0-1"} < schemas
    assert "com.snowplowanalytics.snowplow/web_page/jsonschema/1-0-0" in schemas


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    def digest(seed: int, name: str) -> str:
        spec = EventsSpec(60, 2, 10, 10, 10, 10, 10, 10, 10, 1, 5, seed=seed)
        files = write_events(spec, str(tmp_path / name)).files
        return hashlib.md5(b"".join(file.read_bytes() for file in files)).hexdigest()

    assert (
        digest(1, "{batch}.tsv") == digest(1, "{batch}.tsv") == "4255a666aba8a6f041a666ced70319d5"
    )
    assert digest(1, "{batch}.jsonl.gz") == digest(1, "{batch}.jsonl.gz")
    assert digest(1, "{batch}.tsv") != digest(2, "{batch}.tsv")


def test_command(tmp_path: Path) -> None:
    arguments = ["events", "10", "2", str(tmp_path / "e{batch}.tsv"), "--natural-cross-batch", "10"]
    result = CliRunner().invoke(datagen, [*arguments, "--truth", str(tmp_path / "truth.jsonl")])
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "original 10, natural_in_batch 0, natural_cross_batch 1" in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"e0001.tsv", "e0002.tsv", "truth.jsonl"}


def test_no_events(tmp_path: Path) -> None:
    assert generate(tmp_path, EventsSpec(0, 2, bad=50)) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"events": -1}, "must be 0 or more"),
        ({"batches": 0}, "at least 1"),
        ({"bad": 101}, r"bad must be a percentage from 0 to 100 \(found 101\)"),
        ({"natural_cross_batch": 1}, "natural_cross_batch: 1 events .* only 0 have one"),
        ({"hot_ids": 1}, "hot_ids needs hot_copies"),
        ({"hot_ids": 101, "hot_copies": 1}, "between 0 and events"),
        ({"hot_ids": 50, "hot_copies": 1, "natural_in_batch": 60}, "too few other events"),
    ],
)
def test_refuses(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EventsSpec(**{"events": 100, **settings})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("events_{batch}.csv", "must end in .tsv"),
        ("events.tsv", "the name must have {batch}"),
    ],
)
def test_refuses_names(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        write_events(EventsSpec(10, 2), str(tmp_path / name))
    assert not list(tmp_path.iterdir())
