"""Workload (s): a hundred small loads of each flow in one process, with what falls due now and then."""

from __future__ import annotations

import datetime as dt
from itertools import islice
from statistics import mean

import change_events
import enriched
from harness import Bench, Result, opened, progress
from overhead import ITEMS, write_extract

from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec

FIRST = dt.date(2026, 1, 1)
LOADS = 105
"""Delta joins files and writes checkpoints by the hundredth commit at the latest."""
ROWS = 1000
EVENTS = 100
PART = 10


def workload_s(rounds: int, scale: float) -> Result:
    """Each flow in turn, load by load; `rounds` and `scale` change nothing."""
    what = (
        f"{LOADS} loads of each, one after the other in one process: an extract of {ROWS:,} rows of which three differ, "
        f"{EVENTS} canonical change events, {EVENTS} enriched events. Each row has the loads but for the first {PART}."
    )
    result = Result("(s) many small loads", what, "items", rounds="loads")
    titles = {
        "items": "full extract",
        "orders": "change events",
        "atomic_events": "enriched events",
    }
    series = {name: result.add(name, title, compared=False) for name, title in titles.items()}
    with opened(Bench({})) as bench:
        events, batches = bench.root / "events", bench.root / "batches"
        for folder in (bench.landing / "items", batches):
            folder.mkdir()
        files = {
            "models/items.sql": "{{ tidemark.extract() }}",
            "models/items.yml": ITEMS.format(landing=bench.landing / "items"),
            **change_events.model("orders", bench.landing / "orders", "canonical"),
            "models/atomic_events.sql": "{{ tidemark.extract() }}",
            "models/atomic_events.yml": enriched.YAML.format(landing=bench.landing / "atomic"),
        }
        for path, text in files.items():
            bench.write(path, text)
        changes = change_events.changes(EVENTS, seed=1)
        spec = EventsSpec(EVENTS * LOADS, LOADS, natural_in_batch=2, natural_cross_batch=2)
        write_events(spec, str(batches / "{batch}.tsv.gz"))
        taken: dict[str, list[float]] = {name: [] for name in titles}
        for number, batch in enumerate(sorted(batches.iterdir())):
            date = (FIRST + dt.timedelta(number)).isoformat()
            write_extract(bench.landing / "items" / f"{date}.csv", number, ROWS)
            change_events.write_batch(events, number, islice(changes, EVENTS), ["canonical"])
            change_events.land(events / "canonical", number, bench.landing / "orders")
            enriched.land([batch], bench.landing / "atomic")
            for name in titles:
                timing = bench.run(date, "--select", name)
                taken[name].append(timing.seconds)
                if number >= PART:
                    series[name].rounds.append(timing)
            if (number + 1) % PART == 0:
                told = ", ".join(
                    f"{name} {mean(all_[-PART:]):.2f} s" for name, all_ in taken.items()
                )
                progress(f"load {number + 1}: mean of the last {PART}: {told}")
    for name, title in titles.items():
        early, late = taken[name][PART : 2 * PART], taken[name][-PART:]
        result.notes.append(
            f"{title.capitalize()}: {mean(taken[name][PART:]):.2f} s in the mean; loads {PART + 1} to {2 * PART} "
            f"{mean(early):.2f} s, the last {PART} {mean(late):.2f} s, the longest {max(taken[name][PART:]):.1f} s."
        )
    return result
