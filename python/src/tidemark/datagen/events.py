"""Enriched events in batches, with duplicates of every kind, late events and broken lines."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.datagen.csv_text import open_csv
from tidemark.datagen.event_content import EventMaker, broken_line
from tidemark.datagen.events_spec import (
    BAD,
    KINDS,
    NATURAL_CROSS_BATCH,
    NATURAL_IN_BATCH,
    ORIGINAL,
    SYNTHETIC_CROSS_BATCH,
    SYNTHETIC_IN_BATCH,
    EventsSpec,
)
from tidemark.errors import ConfigError
from tidemark.shred.enriched import Event, to_json_line, to_line

_TSV = (".tsv", ".txt")
_JSON = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class Written:
    """The files that were written and how many lines of each kind they have."""

    files: tuple[Path, ...]
    counts: dict[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{kind} {count}" for kind, count in self.counts.items())


@dataclass(frozen=True)
class _Line:
    """A line to write: which event, what kind of copy, and which copy of those that differ."""

    index: int
    kind: str
    variant: int = 0
    copy: int = 0


def write_events(spec: EventsSpec, out: str, truth: Path | None = None) -> Written:
    """Write one file per batch.

    Example:
        >>> spec = EventsSpec(1000, 4, natural_in_batch=5, synthetic_cross_batch=1)
        >>> print(write_events(spec, "landing/{batch}.tsv.gz"))  # doctest: +SKIP
        original 1000, natural_in_batch 50, natural_cross_batch 0, …

    Args:
        spec: What to generate.
        out: Where to, `{batch}` standing for the batch's number (four digits, from 0001) and
            `{date}` for the date of its etl_tstamp. The name
            says the format: canonical TSV (.tsv, .txt) or self-describing JSON lines (.json,
            .jsonl, .ndjson), gzip if it ends in .gz.
        truth: File for JSON lines that say what each line is: `file`, `line` (from 1), `batch`,
            `kind` (one of `KINDS`), `event` (a number that all lines of one id share), `variant`
            (0 for the first content of that id), `event_id` and `fingerprint` as in the line.

    Raises:
        ConfigError: The name does not say the format, or several batches would share one file.
    """
    as_json = _is_json(out)
    paths = [_path(out, spec, batch) for batch in range(spec.batches)]
    if len(set(paths)) < spec.batches:
        raise ConfigError(
            f"{out}: the name must have {{batch}} in it, as there are {spec.batches} batches. Use "
            "{date} if they are at least 24 hours apart"
        )
    extra, make = _extra_lines(spec), EventMaker(spec)
    counts = Counter(dict.fromkeys(KINDS, 0))
    files = []
    with ExitStack() as stack:
        truths = stack.enter_context(open_csv(truth)) if truth is not None else None
        for batch, path in enumerate(paths):
            files.append(path)
            with open_csv(path) as file:
                for number, line in enumerate(_shuffled(extra, spec, batch), start=1):
                    event = _event(spec, make, line, batch)
                    if line.kind == BAD:
                        text = broken_line(event, line.copy, as_json)
                    else:
                        text = to_json_line(event) if as_json else to_line(event)
                    file.write(f"{text}\n".encode())
                    counts[line.kind] += 1
                    if truths is not None:
                        truths.write(_truth(path, number, batch, line, event))
    return Written(tuple(files), dict(counts))


def _path(out: str, spec: EventsSpec, batch: int) -> Path:
    date = spec.etl_tstamp(batch).date().isoformat()
    return Path(out.replace("{batch}", f"{batch + 1:04d}").replace("{date}", date))


def _is_json(out: str) -> bool:
    name = out.removesuffix(".gz")
    if name.endswith(_JSON):
        return True
    if name.endswith(_TSV):
        return False
    raise ConfigError(
        f"{out}: the name of the file must end in {', '.join(_TSV)} (canonical TSV) or "
        f"{', '.join(_JSON)} (JSON lines), each with or without .gz"
    )


def _event(spec: EventsSpec, make: EventMaker, line: _Line, batch: int) -> Event:
    """The event as it is in a line of a batch."""
    home = spec.batch_of(line.index)
    arrives = home if line.kind in (ORIGINAL, NATURAL_CROSS_BATCH, BAD) else batch
    event = make.content(line.index, line.variant)
    make.deliver(event, line.index, arrives, random.Random(f"{spec.seed} d {line.index}"))
    if line.copy and line.copy % 2 == 0 and line.kind != BAD:
        make.deliver_again(event, batch, random.Random(f"{spec.seed} r {line}"))
    return event


def _truth(path: Path, number: int, batch: int, line: _Line, event: Event) -> bytes:
    record: dict[str, Any] = {
        "file": path.name,
        "line": number,
        "batch": batch + 1,
        "kind": line.kind,
    }
    if line.kind != BAD:
        record |= {
            "event": line.index,
            "variant": line.variant,
            "event_id": event["event_id"],
            "fingerprint": event["event_fingerprint"],
        }
    return (json.dumps(record) + "\n").encode()


# -- Which lines ---------------------------------------------------------------------------------


def _extra_lines(spec: EventsSpec) -> dict[int, list[_Line]]:
    """The copies and bad lines of each batch; first deliveries are not listed."""
    extra: dict[int, list[_Line]] = defaultdict(list)
    dice = random.Random(f"{spec.seed} plan")

    def later(index: int) -> int:
        return dice.randrange(spec.batch_of(index) + 1, spec.batches)

    for copy, index in enumerate(spec.chosen(NATURAL_IN_BATCH)):
        extra[spec.batch_of(index)].append(_Line(index, NATURAL_IN_BATCH, 0, copy + 1))
    for copy, index in enumerate(spec.chosen(NATURAL_CROSS_BATCH)):
        extra[later(index)].append(_Line(index, NATURAL_CROSS_BATCH, 0, copy + 1))
    for index in spec.chosen(SYNTHETIC_IN_BATCH):
        extra[spec.batch_of(index)].append(_Line(index, SYNTHETIC_IN_BATCH, 1))
    for index in spec.chosen(SYNTHETIC_CROSS_BATCH):
        extra[later(index)].append(_Line(index, SYNTHETIC_CROSS_BATCH, 2))
    for index in range(spec.hot_ids):
        lines = extra[spec.batch_of(index)]
        for copy in range(1, spec.hot_copies):
            # odd copies have other content, each even one is the one before it once more
            kind = SYNTHETIC_IN_BATCH if copy % 2 else NATURAL_IN_BATCH
            lines.append(_Line(index, kind, 3 + (copy - 1) // 2, 0 if copy % 2 else copy))
    for number in range(round(spec.events * spec.bad / 100)):
        index = dice.randrange(spec.events)
        extra[spec.batch_of(index)].append(_Line(index, BAD, 0, number))
    return extra


def _shuffled(extra: dict[int, list[_Line]], spec: EventsSpec, batch: int) -> Iterator[_Line]:
    """First deliveries in their order, with the batch's other lines at random places among them."""
    first = -(-batch * spec.events // spec.batches)
    end = -(-(batch + 1) * spec.events // spec.batches)
    others = extra.pop(batch, [])
    dice = random.Random(f"{spec.seed} shuffle {batch}")
    dice.shuffle(others)
    index = first
    while index < end or others:
        if dice.random() * (end - index + len(others)) < len(others):
            yield others.pop()
        else:
            yield _Line(index, ORIGINAL)
            index += 1
