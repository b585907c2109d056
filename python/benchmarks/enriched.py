"""Workload (f): a batch of enriched events, de-duplicated within itself and against what is stored."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import by_hand
from harness import Bench, Result, Timing, opened, progress

from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.shred.enriched import COLUMNS

FILES = 20
"""Of the batch that is timed; one more is the batch before."""
YAML = """
version: 2
models:
  - name: atomic_events
    config:
      materialized: atomic
      meta: {{tidemark: {{location: "{landing}"}}}}
"""


def write_batches(folder: Path, events: int) -> dict[str, int]:
    """Write one file for the first batch, and so many for the second that it has `events` events; count the lines."""
    spec = EventsSpec(
        events * (FILES + 1) // FILES,
        FILES + 1,
        natural_in_batch=2,
        natural_cross_batch=2,
        synthetic_in_batch=1,
        synthetic_cross_batch=1,
        late=5,
        bad=0.5,
        no_fingerprint=5,
    )
    return write_events(spec, str(folder / "{batch}.tsv.gz")).counts


def land(files: list[Path], landing: Path) -> None:
    """Let files arrive."""
    landing.mkdir(exist_ok=True)
    for path in files:
        (landing / path.name).hardlink_to(path)


def floor(bench: Bench, files: list[Path]) -> Timing:
    """Split the lines into columns of text and write them as a Delta table."""
    columns = [f"fields[{place}] as {name}" for place, name in enumerate(COLUMNS)]
    return bench.time(
        lambda: (
            bench.session.read.text([str(path) for path in files])
            .selectExpr("split(value, '\\t') as fields")
            .selectExpr(*columns)
            .write.format("delta")
            .mode("overwrite")
            .saveAsTable("peers.floor")
        )
    )


def check_same(bench: Bench) -> None:
    """Ours and those by hand have as many events and entities."""
    tables = {"atomic_events": "hand_events", "atomic_events__entities": "hand_entities"}
    for ours, theirs in tables.items():
        query = "select count(*) from {}"
        mine, other = (
            bench.session.sql(query.format(table)).collect()[0][0]
            for table in (f"tidemark.{ours}", f"peers.{theirs}")
        )
        # what marks a renamed event is an entity of ours more
        if abs(mine - other) > other * 0.05:
            sys.exit(f"{ours} has {mine:,} rows, {theirs} {other:,}")


def workload_f(rounds: int, scale: float) -> Result:
    """A million enriched events."""
    count = int(1_000_000 * scale)
    what = (
        f"{count // FILES:,} enriched events (canonical TSV, gzip) are loaded; then, timed, {count:,} in {FILES} files, with copies "
        "and events of the same id in the batch and across both."
    )
    result = Result("(f) enriched events", what, "tidemark")
    ours = result.add("tidemark", "Tidemark: atomic events, entities, rejects, manifest", count)
    hand = result.add("hand", "Spark SQL by hand: the leanest shredder (by_hand.py)", count)
    base = result.add("floor", "floor: split the lines, write a Delta table", count)
    with opened(Bench({})) as bench:
        landing = bench.landing / "events"
        bench.write("models/atomic_events.sql", "{{ tidemark.extract() }}")
        bench.write("models/atomic_events.yml", YAML.format(landing=f"{landing}/*.tsv.gz"))
        made = bench.root / "made"
        made.mkdir()
        progress(f"{result.name}: writing {count:,} events")
        counts = write_batches(made, count)
        first, *second = sorted(made.iterdir())
        for number in range(rounds):
            bench.drop()
            bench.session.sql("create database peers")
            shutil.rmtree(landing, ignore_errors=True)
            land([first], landing)
            bench.run("2026-03-04")
            land(second, landing)
            ours.rounds.append(bench.run("2026-03-05"))
            by_hand.enriched_tables(bench.session)
            for files in ([first], second):
                paths = [str(path) for path in files]
                timing = bench.time(lambda paths=paths: by_hand.load_enriched(bench.session, paths))
            hand.rounds.append(timing)
            check_same(bench)
            base.rounds.append(floor(bench, second))
            progress(f"round {number + 1}: {ours.rounds[-1].seconds:.1f} s, by hand {hand.rounds[-1].seconds:.1f} s, floor {base.rounds[-1].seconds:.1f} s")  # fmt: skip
        last = ours.rounds[-1]
        told = ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
        size = sum(path.stat().st_size for path in second) / 2**20
        result.notes.append(
            f"{count / ours.median():,.0f} events a second (target: 50,000). {size:,.0f} MiB of gzip; lines of all files: {told}. "
            f"{last.jobs} Spark jobs, {last.spilled / 2**20:,.0f} MiB spilled; the JVM held at most {bench.peak_memory():.1f} GiB."
        )
    return result
